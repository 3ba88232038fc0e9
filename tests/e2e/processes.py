"""The processes of pods, as the machine sees them that the node is a part of."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.node import Node


def of(node: Node, pod: str) -> list[int]:
    """The programs of a pod, or of all whose names begin so."""
    return [pid for pid in _all() if _hostname(pid).startswith(pod) and _is_on(node, pid)]


def kill(node: Node, pod: str) -> None:
    """As the kernel does it when memory is short: no goodbye."""
    for pid in of(node, pod):
        os.kill(pid, signal.SIGKILL)


def order(node: Node, pod: str, code: int) -> None:
    """What User.order does, without a kubelet."""
    [pid] = of(node, pod)
    folder = Path(f"/proc/{pid}/root/tmp")
    (folder / "new").write_text(str(code))
    (folder / "new").rename(folder / "order")


def _all() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _is_on(node: Node, pid: int) -> bool:
    """Others, which run beside it, may have pods of the same name."""
    try:
        return f"/{node.name}/" in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:  # it has ended meanwhile
        return False


def _hostname(pid: int) -> str:
    """A container is told the name of its pod so."""
    try:
        lines = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended meanwhile
        return ""
    return next((line[9:].decode() for line in lines if line.startswith(b"HOSTNAME=")), "")
