"""What a node takes of the machine: a number, and with it a folder, a subnet, a cgroup and a network link."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import waiting
from tests.cluster.build import Unavailable

SUBNET = "10.250.0.0/16"
"""Where all nodes are."""
_MOST = 16  # nodes side by side
_CGROUPS = Path("/sys/fs/cgroup")
_LINKS = Path("/sys/class/net")


def name_of(number: int) -> str:
    return f"trainop-node{number}"


def folders(name: str) -> list[Path]:
    """Of nodes of that name: of one that was killed, someone may be about to remove its own."""
    return list(Path(tempfile.gettempdir()).glob(f"{name}-*"))


@dataclass(frozen=True)
class Plot:
    """Everything of it has its name."""

    number: int
    folder: Path

    @property
    def name(self) -> str:
        return name_of(self.number)

    @property
    def gateway(self) -> str:
        """The machine's address on the link."""
        return f"10.250.{self.number}.1"

    @property
    def address(self) -> str:
        """The node's."""
        return f"10.250.{self.number}.2"


def clear(name: str) -> None:
    """Remove all that has this name, once the processes are gone; the kernel takes a moment over them."""
    waiting.until(f"the cgroups of {name} are gone", lambda: _without_cgroups(name))
    clear_link(name)
    waiting.until(f"the folder of {name} is gone", lambda: _without_folders(name))


def clear_link(name: str) -> None:
    """It outlives the processes for a moment."""
    waiting.until(f"the link {name} is gone", lambda: _without_link(name))


@contextlib.contextmanager
def take() -> Iterator[Plot]:
    """One that nobody has, cleared before and after."""
    with contextlib.ExitStack() as undo:
        number = next((number for number in range(_MOST) if _own(number, undo)), None)
        if number is None:
            raise Unavailable(f"{_MOST} nodes run on this machine already: end one.")
        name = name_of(number)
        clear(name)
        undo.callback(clear, name)
        yield Plot(number, Path(tempfile.mkdtemp(prefix=f"{name}-")))


def tidy() -> None:
    """Remove what owners left that were killed."""
    for number in range(_MOST):
        with contextlib.ExitStack() as undo:
            if _own(number, undo):
                clear(name_of(number))


def _own(number: int, undo: contextlib.ExitStack) -> bool:
    """Have the plot until `undo`. The lock is a name without a file, which the kernel drops with its owner."""
    lock = undo.enter_context(socket.socket(socket.AF_UNIX))
    try:
        lock.bind(f"\0{name_of(number)}")
    except OSError:
        return False
    return True


def _cgroups(name: str) -> list[str]:
    """Of every hierarchy, the innermost first."""
    roots = [*_CGROUPS.glob(name), *_CGROUPS.glob(f"*/{name}")]
    return [path for root in roots for path, _, _ in os.walk(root, topdown=False)]


def _without_cgroups(name: str) -> bool:
    for path in _cgroups(name):
        with contextlib.suppress(OSError):
            os.rmdir(path)
    return not _cgroups(name)


def _without_link(name: str) -> bool:
    if (_LINKS / name).exists():
        words = ["ip", "link", "delete", name]
        subprocess.run(words, capture_output=True, check=False)  # noqa: S603 - a link of ours
    return not (_LINKS / name).exists()


def _without_folders(name: str) -> bool:
    for path in folders(name):
        shutil.rmtree(path, ignore_errors=True)
    return not folders(name)
