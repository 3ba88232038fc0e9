"""Remembers which control planes people have running, so that another terminal can end them.

A record is a file that its owner keeps locked. The kernel drops the lock when the owner ends, however that
happens, so a locked record cannot name a process that is gone or whose number another one has taken over.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.cluster import waiting
from tests.cluster.binaries import cache

_PATIENCE = 20  # seconds for an owner to clean up by itself


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Keep a record of this process while the block lasts."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{os.getpid()}-{time.time_ns()}"
    hidden = record.with_name(f".{record.name}")
    with hidden.open("x") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        hidden.rename(record)  # seen by others only now that it is locked
        try:
            yield
        finally:
            record.unlink(missing_ok=True)


def end_all() -> list[int]:
    """End every recorded process of this user and wait until it has cleaned up; returns their ids."""
    ended = []
    for record in sorted(_folder().glob("[0-9]*")):
        with contextlib.suppress(FileNotFoundError), record.open() as file:
            pid = int(record.name.partition("-")[0])
            if not _unowned(file):
                _end(pid, file)
                ended.append(pid)
            record.unlink(missing_ok=True)
    return ended


def _end(pid: int, record: IO[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        with contextlib.suppress(TimeoutError):
            waiting.until(f"process {pid} is gone", lambda: _unowned(record), _PATIENCE)
            return
    raise TimeoutError(f"process {pid} does not end")


def _unowned(record: IO[str]) -> bool:
    try:
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder() -> Path:
    return cache() / "running"
