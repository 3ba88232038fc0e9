"""The logs of a run as they grow: what is new in each, and the last line of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainop.local.folder import Folder

MOST = 1 << 20
"""Bytes that are read of one log at a time; who writes faster is shown later."""


class Tails:
    def __init__(self, folder: Folder) -> None:
        self._logs = folder.logs
        self._read: dict[Path, int] = {}
        self._half: dict[Path, bytes] = {}
        self._last: dict[tuple[str, str], str] = {}

    def new(self) -> Iterator[tuple[str, str, str]]:
        """Pod, container and line, for each whole line that has come since the last time."""
        for path in sorted(self._logs.glob("*/*.log"), key=_start):
            pod, container = path.parent.name, path.name.rsplit(".", 2)[0]
            for line in self._lines(path):
                if line.strip():
                    self._last[pod, container] = line.strip()
                yield pod, container, line

    def last(self, pod: str, container: str) -> str:
        return self._last.get((pod, container), "")

    def _lines(self, path: Path) -> Iterator[str]:
        with path.open("rb") as log:
            log.seek(self._read.get(path, 0))
            fresh = log.read(MOST)
        self._read[path] = self._read.get(path, 0) + len(fresh)
        *whole, self._half[path] = (self._half.get(path, b"") + fresh).split(b"\n")
        for line in whole:
            yield printable(line)


def ending(path: Path, lines: int) -> list[str]:
    """The last lines of a log."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - MOST))
        return [printable(line) for line in log.read().splitlines()[-lines:]]


def printable(line: bytes) -> str:
    """A progress bar writes over itself: what counts is what it wrote last. Colours and bells stay outside."""
    text = line.decode(errors="replace").rstrip("\r").rsplit("\r", 1)[-1]
    return "".join(c for c in text.expandtabs(4) if c.isprintable())


def _start(path: Path) -> tuple[str, int]:
    return path.parent.name, int(path.name.rsplit(".", 2)[1])
