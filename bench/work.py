"""How much a process works, in instructions, which valgrind counts: hardly more on a busy machine than on an idle one.

Time on a CPU also holds what the machine needs to bring back memory that nobody has touched for a while, and on some
virtual machines that is more than the work itself; see docs/performance.md. What the kernel does is not counted.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.proc import Rest
from tests.cluster import waiting


def missing() -> str:
    """What has to be there and is not."""
    there = all(map(shutil.which, ("valgrind", "callgrind_control")))
    return "" if there else "valgrind is not installed: apt-get install valgrind"


class Instructions:
    """Of the processes that are started `under` it."""

    rest = Rest(1.0, 0.05)
    """It runs some fifty times slower than it would."""

    def __init__(self, folder: Path) -> None:
        """`folder`: for what valgrind writes."""
        self._folder = folder
        self._seen: dict[Path, int] = {}
        self._started: set[int] = set()
        self.under: tuple[str, ...] = (
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={folder}/%p",
        )

    def used(self, pid: int) -> float:
        """Since it was asked first."""
        if pid not in self._started:
            self._started.add(pid)
            _tell(pid, "--instr=on")
        known = len(self.dumps(pid))
        _tell(pid, "--dump")
        waiting.until(f"valgrind has counted for process {pid}", lambda: len(self.dumps(pid)) > known)
        return float(sum(self.dumps(pid).values()))

    def dumps(self, pid: int) -> dict[Path, int]:
        """Each tells what has come since the one before; one that is still being written tells nothing yet."""
        for path in set(self._folder.glob(f"{pid}.*")) - self._seen.keys():
            if told := [line for line in path.read_text().splitlines() if line.startswith("totals:")]:
                self._seen[path] = int(told[0].split()[1])
        return {path: count for path, count in self._seen.items() if path.name.startswith(f"{pid}.")}


def _tell(pid: int, order: str) -> None:
    asked = ["callgrind_control", order, str(pid)]
    subprocess.run(asked, check=True, capture_output=True)  # noqa: S603 - valgrind's own program
