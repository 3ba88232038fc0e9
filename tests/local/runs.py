"""`trainop run` as users start it: a job of small scripts, the command line, and what is alive of it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import waiting
from trainop.kube.port import Raw
from trainop.local import warden

TRAINOP = Path(sys.executable).with_name("trainop")
PATIENCE = 60.0
"""Seconds."""
FOREVER = "import time; print('ready', flush=True); time.sleep(1000)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
# A grandchild that nobody would find by its group, its session or its parent.
WITH_A_GRANDCHILD = (
    "import subprocess, sys\n"
    "middle = 'import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)'\n"
    f"subprocess.run([sys.executable, '-c', middle, sys.executable, '-c', {STUBBORN!r}], check=True)\n"
    f"{FOREVER}"
)


def container(script: str | list[str], **more: Any) -> Raw:
    command = ["python3", "-c", script] if isinstance(script, str) else script
    return {"name": "tensorflow", "image": "example/train:1", "command": command, **more}


def role(script: str | list[str], **more: Any) -> Raw:
    """Of a TFJob; fields of the replica spec, and `pod` for those of the pod."""
    pod = {"containers": [container(script)], **more.pop("pod", {})}
    return {"template": {"spec": pod}, **more}


def tfjob(name: str = "job", *, policy: Mapping[str, Any] | None = None, **roles: Raw) -> Raw:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": roles} | ({"runPolicy": dict(policy)} if policy else {}),
    }


class Desk:
    """Where a user sits: a folder with a job in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_dir = folder / "run"
        self.named = True
        """Whether the folder of the run is."""

    def write(self, job: Raw) -> None:
        (self.folder / "job.yaml").write_text(yaml.safe_dump(job))

    def argv(self, *options: str) -> list[str]:
        place = ["--run-dir", str(self.run_dir)] if self.named else []
        return [str(TRAINOP), "run", "job.yaml", *place, *options]

    def env(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "FORCE_COLOR")}
        return {**kept, "XDG_STATE_HOME": str(self.folder / "xdg"), **more}

    def run(self, job: Raw, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        self.write(job)
        return subprocess.run(  # noqa: S603 - our own command
            self.argv(*options),
            cwd=self.folder,
            env=self.env(**env),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, job: Raw, *options: str, **env: str) -> subprocess.Popen[str]:
        self.write(job)
        return subprocess.Popen(  # noqa: S603 - our own command
            self.argv(*options),
            cwd=self.folder,
            env=self.env(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def log(self, member: str, number: int = 0, container: str = "tensorflow") -> str:
        return (self.run_dir / "logs" / f"job-{member}" / f"{container}.{number}.log").read_text()

    def state(self) -> Raw:
        found: Raw = json.loads((self.run_dir / "state.json").read_text())
        return found

    def until_ready(self, *members: str) -> str:
        """Each of them has said so in its log; the mark that all processes of the run carry."""
        for member in members:
            waiting.until(f"{member} is ready", partial(self._ready, member))
        pid = next((self.run_dir / "pids").iterdir()).read_text().strip()
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        mark = next(v for v in variables if v.startswith(warden.MARK.encode()))
        return mark.decode().split("=")[1].split()[-1].partition("/")[0] + "/"

    def _ready(self, member: str) -> bool:
        try:
            return "ready" in self.log(member)
        except OSError:
            return False


class Terminal:
    """A real one, as far as the command can tell."""

    def __init__(self, desk: Desk, width: int, *options: str, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
        script = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
        self._run = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", script, str(theirs), *desk.argv(*options)],
            cwd=desk.folder,
            env=desk.env(TERM="xterm", COLUMNS=str(width), LINES="30", **env),
            pass_fds=[theirs],
        )
        os.close(theirs)
        self._seen = b""

    def read(self, until: Callable[[str], bool] = lambda seen: False) -> str:
        """All that was written until that holds, or to the end."""
        while not until(self._text()):
            try:
                fresh = os.read(self._ours, 65536)
            except OSError:  # the other side is closed
                break
            if not fresh:
                break
            self._seen += fresh
        return self._text()

    def _text(self) -> str:
        return self._seen.decode(errors="replace")

    def press(self, key: bytes) -> None:
        os.write(self._ours, key)

    def close(self) -> int:
        """As when its window is closed; the exit code of the command, which has heard of it."""
        os.close(self._ours)
        return self._run.wait(PATIENCE)

    def end(self) -> int:
        """The exit code, after all that there is to read."""
        self.read()
        return self.close()


def alive(mark: str) -> list[int]:
    return list(warden.marked(mark))


def children(pid: int) -> Iterator[int]:
    """Of one process, whatever they are."""
    yield from map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
