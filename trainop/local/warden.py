"""Kills all that is left of a run when its owner is gone, however it went: this file run as a script.

It holds the reading end of a pipe whose writing end only `trainop run` has. At the end of the pipe it kills the
process groups that the run has written down, and on Linux every process that carries the run's mark in its
environment: also one that made a session of its own, or was started in the very moment of the end.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "TRAINOP_RUN"
"""The variable; its value ends with RUN/POD/CONTAINER/, so that all of a run or of a container can be found. A run
inside a run carries both."""
_PROCESSES = Path("/proc")
_PATIENCE = 10.0
"""Seconds. A process that does not end of SIGKILL hangs in the kernel, and nobody can help."""


def marked(mark: str) -> Iterator[int]:
    """The processes that carry it; none where there is no /proc."""
    wanted = mark.encode()
    for entry in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is not ours
                for variable in (entry / "environ").read_bytes().split(b"\0"):
                    if variable.startswith(MARK.encode() + b"=") and wanted in variable:
                        yield int(entry.name)


def kill_marked(mark: str) -> bool:
    """Whether there was any."""
    found = [pid for pid in marked(mark) if pid != os.getpid()]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def signal_group(group: int, number: int) -> None:
    """Nobody may be left in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: only zombies are left
        os.killpg(group, number)


def sweep(run: str, pids: Path) -> None:
    """Until nothing is left."""
    for file in list(pids.glob("*")):
        with contextlib.suppress(OSError, ValueError):
            signal_group(int(file.read_text()), signal.SIGKILL)
            file.unlink()
    deadline = time.monotonic() + _PATIENCE
    while kill_marked(f"{run}/") and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever ends the run ends the pipe
    sys.stdin.buffer.read()
    sweep(sys.argv[1], Path(sys.argv[2]))
