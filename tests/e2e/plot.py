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

_MOST = 16  # nodes side by side
_CGROUPS = Path("/sys/fs/cgroup")
_LINKS = Path("/sys/class/net")


def folder(name: str) -> Path:
    """Of the node of that name."""
    return Path(tempfile.gettempdir()) / name


@dataclass(frozen=True)
class Plot:
    """Everything of it has its name."""

    number: int

    @property
    def name(self) -> str:
        return f"trainop-node{self.number}"

    @property
    def folder(self) -> Path:
        return folder(self.name)

    @property
    def gateway(self) -> str:
        """The machine's address on the link."""
        return f"10.250.{self.number}.1"

    @property
    def address(self) -> str:
        """The node's."""
        return f"10.250.{self.number}.2"

    def cgroups(self) -> list[Path]:
        """Of every hierarchy, the innermost first."""
        roots = [*_CGROUPS.glob(self.name), *_CGROUPS.glob(f"*/{self.name}")]
        return [
            Path(path) for root in roots for path, _, _ in os.walk(root, topdown=False) if Path(path).is_dir()
        ]

    def clear(self) -> None:
        """Remove what is there, once the processes are gone; the kernel takes a moment over them."""
        waiting.until(f"the cgroups of {self.name} are gone", self._without_cgroups)
        waiting.until(f"the link {self.name} is gone", self._without_link)
        waiting.until(f"{self.folder} is gone", self._without_folder)

    def _without_cgroups(self) -> bool:
        for path in self.cgroups():
            with contextlib.suppress(OSError):
                path.rmdir()
        return not self.cgroups()

    def _without_link(self) -> bool:
        if (_LINKS / self.name).exists():
            words = ["ip", "link", "delete", self.name]
            subprocess.run(words, capture_output=True, check=False)  # noqa: S603 - a link of ours
        return not (_LINKS / self.name).exists()

    def _without_folder(self) -> bool:
        shutil.rmtree(self.folder, ignore_errors=True)
        return not self.folder.exists()


@contextlib.contextmanager
def take() -> Iterator[Plot]:
    """One that nobody has, cleared before and after."""
    with contextlib.ExitStack() as undo:
        number = next((number for number in range(_MOST) if _own(number, undo)), None)
        if number is None:
            raise Unavailable(f"{_MOST} nodes run on this machine already: end one.")
        plot = Plot(number)
        plot.clear()
        undo.callback(plot.clear)
        plot.folder.mkdir(mode=0o700)
        yield plot


def tidy() -> None:
    """Remove what owners left that were killed."""
    for number in range(_MOST):
        with contextlib.ExitStack() as undo:
            if _own(number, undo):
                Plot(number).clear()


def _own(number: int, undo: contextlib.ExitStack) -> bool:
    """Have the plot until `undo`. The lock is a name without a file, which the kernel drops with its owner."""
    lock = undo.enter_context(socket.socket(socket.AF_UNIX))
    try:
        lock.bind(f"\0{Plot(number).name}")
    except OSError:
        return False
    return True
