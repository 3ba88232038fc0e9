"""What a process costs, as the kernel counts it: read from /proc, so that every arm is measured the same way."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol


class Rest(NamedTuple):
    """A process has nothing left to do when it used so few seconds of CPU in so many."""

    seconds: float
    cpu: float


class Meter(Protocol):
    """How the cost of a process is measured."""

    under: tuple[str, ...]
    """The command that the process must be started by; empty: any way will do."""
    rest: Rest

    def used(self, pid: int) -> float:
        """So far: only differences say something."""


class Cpu:
    """In seconds."""

    under: tuple[str, ...] = ()
    rest = Rest(0.4, 0.01)

    def used(self, pid: int) -> float:
        return cpu(pid)


def cpu(pid: int) -> float:
    """Seconds that all its threads have been on a CPU, to the nanosecond where `stat` counts hundredths."""
    return sum(_nanoseconds(thread) for thread in _entry(pid, "task").iterdir()) / 1e9


def resident(pid: int) -> float:
    """MiB of memory that it holds now, shared libraries included (RSS)."""
    return _mib(pid, "VmRSS")


def peak(pid: int) -> float:
    """MiB that it has ever held at once."""
    return _mib(pid, "VmHWM")


def _nanoseconds(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except FileNotFoundError:
        return 0  # it has just ended


def _entry(pid: int, name: str) -> Path:
    found = Path(f"/proc/{pid}/{name}")
    if not found.exists():
        raise ChildProcessError(f"process {pid}, which is measured, has ended by itself")
    return found


def _mib(pid: int, field: str) -> float:
    lines = _entry(pid, "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024
