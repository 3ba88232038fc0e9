"""A machine within the machine: namespaces with a process 1 of ours, in which programs run until it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cluster import waiting
from tests.cluster.build import Unavailable
from tests.cluster.leash import Process
from tests.e2e.plot import Plot, clear_link

LIMIT = 180  # seconds for each step of the start, for a busy machine; an idle one needs two or three
_BOOT = Path(__file__).with_name("node.sh")
_APART = (
    *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private"),
    *("bash", _BOOT),
)
_NETWORK = """
ip link set lo up
ip address add "$1/24" dev eth0
ip link set eth0 up
ip route add default via "$2"
echo 1 > /proc/sys/net/ipv4/ip_forward
"""


class Broken(Exception):
    """A command in the machine failed; the message is its own."""


class Machine:
    """Nothing that runs in it outlives `halt`, nor the process that has booted it."""

    def __init__(self, plot: Plot, packages: Path | None) -> None:
        """`packages`, unpacked, are laid over /usr."""
        self.plot = plot
        self._packages = packages
        self._first: Process | None = None
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._pid = 0

    @property
    def pid(self) -> int:
        """Of its process 1, as it is seen from outside."""
        return self._pid

    def boot(self) -> None:
        """Start it, with the network up."""
        log = self.plot.folder / "boot.log"
        words = (self.plot.folder, self.plot.name, self._packages or "")
        first = Process([*_APART, *words], log=log, scratch=self.plot.folder, env=self._environment())
        self._first = first
        self.until("the namespaces are there", lambda: _children(first.pid))
        [self._pid] = _children(first.pid)
        self.until("its file systems are mounted", Path(f"/proc/{self._pid}/root/run/booted").exists)
        self._connect()

    def halt(self) -> None:
        """Kill everything in it, at once, like a power cut; doing it twice is fine."""
        if self._first is None:
            return
        if self._first.wait(0) is None and self._pid:
            os.kill(self._pid, signal.SIGKILL)
        self._first.stop(LIMIT)
        self._first, self._pid = None, 0
        for program in self._programs.values():
            program.wait(LIMIT)
        self._programs.clear()

    def start(self, name: str, argv: Sequence[str | Path]) -> None:
        """Have a program run in it; its output goes to a log in the folder."""
        with (self.plot.folder / f"{name}.log").open("ab") as log:
            self._programs[name] = subprocess.Popen(  # noqa: S603 - a program of the node
                self._inside(argv),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._environment(), start_new_session=True,
            )  # fmt: skip

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End a program, and return when it is gone."""
        program = self._programs.pop(name)
        [pid] = waiting.until(f"{name} has been started", lambda: _children(program.pid))
        os.kill(pid, number)
        program.wait(LIMIT)

    def run(self, *words: str | Path, stdin: str = "") -> str:
        """What a command prints in it; raises Broken when it fails."""
        done = subprocess.run(  # noqa: S603 - a command of ours or of a test
            self._inside(words),
            input=stdin, capture_output=True, text=True, env=self._environment(), check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise Broken(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def until(self, what: str, condition: Callable[[], object]) -> None:
        """Wait for something to be true of it; raises Unavailable when a program has ended instead."""

        def met() -> bool:
            self.check()
            return bool(condition())

        try:
            waiting.until(what, met, LIMIT)
        except TimeoutError as error:
            logs = sorted(self.plot.folder.glob("*.log"))
            words = "\n".join(f"{log.name}: {_last_words(log, 3)}" for log in logs)
            raise Unavailable(f"the node did not come up, {error}:\n{words}") from error

    def check(self) -> None:
        """Raise Unavailable when a program has ended that should run."""
        ended = [name for name, program in self._programs.items() if program.poll() is not None]
        if self._first is not None and self._first.wait(0) is not None:
            ended = ["boot"]
        for name in ended:
            words = _last_words(self.plot.folder / f"{name}.log", 12)
            raise Unavailable(f"{name} ended by itself on the node:\n{words}")

    def _connect(self) -> None:
        """A link to the machine outside, and to nothing else."""
        name, outside = self.plot.name, f"{self.plot.gateway}/24"
        peer = ["peer", "name", "eth0", "netns", str(self._pid)]
        clear_link(name)  # that of the machine before a reboot
        _ip("link", "add", name, "type", "veth", *peer)
        _ip("address", "add", outside, "dev", name)
        _ip("link", "set", name, "up")
        self.run("sh", "-ec", _NETWORK, "sh", self.plot.address, self.plot.gateway)

    def _inside(self, argv: Sequence[str | Path]) -> list[str]:
        return ["nsenter", f"--target={self._pid}", "--mount", "--net", "--pid", "--wd=/", *map(str, argv)]

    def _environment(self) -> dict[str, str]:
        """Nothing of the user's: neither a proxy nor a setting."""
        path = f"{self.plot.folder / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, "HOME": str(self.plot.folder), "LANG": "C.UTF-8"}


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607 - the system's
    if done.returncode != 0:
        raise Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _last_words(log: Path, lines: int) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""
