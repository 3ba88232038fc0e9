"""Runs commands that must not outlive this process, however it ends.

Each command gets a small process of its own, the leash: this file run as a script. It holds the reading end
of a pipe whose writing end only the owner has; when the owner is gone, even by SIGKILL, the pipe ends and the
leash kills the command. PR_SET_PDEATHSIG alone would not do: it fires when the starting *thread* ends, and
only Linux has it. Here it covers the rest, a leash that is itself killed; and the leash has one thread, so
that code between fork and exec is safe.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

_PR_SET_PDEATHSIG = 1


class Process:
    """A running command on its leash; its output goes to `log`."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        scratch: Path | None = None,
        nice: int = 0,
    ) -> None:
        """Start it; `scratch` is a folder to remove when the owner dies without having stopped it.

        Raises OSError where the command cannot be started.
        """
        self.name = Path(argv[0]).name
        self._log = log
        spec = {"argv": [str(word) for word in argv], "scratch": scratch and str(scratch), "nice": nice}
        with log.open("ab") as output:
            self._leash = subprocess.Popen(  # noqa: S603 - this very file
                [sys.executable, "-I", "-S", __file__, json.dumps(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=env,
                cwd=cwd,
                start_new_session=True,  # Ctrl-C is for the owner, who then stops things in order
            )
        answer = json.loads(cast(IO[bytes], self._leash.stdout).readline() or '{"error": "the leash broke"}')
        if "error" in answer:
            self._release()
            raise OSError(answer["error"])
        self.pid: int = answer["pid"]

    def wait(self, limit: float) -> int | None:
        """The exit code, or None when it still runs after `limit` seconds."""
        try:
            return self._leash.wait(limit)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self) -> None:
        """Ask it to end; returns at once."""
        self._leash.terminate()

    def stop(self, limit: float) -> None:
        """End it: SIGTERM, and SIGKILL when that did not help within `limit` seconds."""
        self.terminate()
        self.wait(limit)
        self._release()

    def last_words(self, lines: int = 12) -> str:
        """The end of its output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def _release(self) -> None:
        """Let go of the leash, which kills what still runs."""
        cast(IO[bytes], self._leash.stdin).close()
        cast(IO[bytes], self._leash.stdout).close()
        self._leash.wait()


def _run(spec: Mapping[str, object]) -> int:
    """The leash: start the command, tell its pid, and wait for its end or for the owner's."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_the_leash() -> None:
        os.nice(cast(int, spec["nice"]))
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        command = subprocess.Popen(  # noqa: S603 - what the owner asked for
            cast(list[str], spec["argv"]),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            preexec_fn=die_with_the_leash,
            start_new_session=True,  # a group of its own, so that its children can be killed with it
        )
    except OSError as error:
        _answer(error=f"{error.filename}: {error.strerror}")
        return 127
    signal.signal(signal.SIGTERM, lambda *_: command.terminate())
    _answer(pid=command.pid)
    while command.poll() is None:
        ready, _, _ = select.select([sys.stdin, wake], [], [])
        if sys.stdin in ready:  # nobody ever writes: this is the end of the pipe
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)
            command.wait()
            if spec["scratch"]:
                shutil.rmtree(cast(str, spec["scratch"]), ignore_errors=True)
        else:
            os.read(wake, 4096)
    return abs(int(command.returncode))


def _answer(**fields: object) -> None:
    with contextlib.suppress(BrokenPipeError):  # the owner may be gone already; the loop will notice
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(_run(json.loads(sys.argv[1])))
