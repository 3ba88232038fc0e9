"""What a person wants to know of a pod: who it is, how it is doing, how it ended."""

from __future__ import annotations

import signal
from typing import Any

from msgspec import Struct

from trainop.engine import labels
from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.local.book import Book, restarts


class Row(Struct, frozen=True):
    pod: str
    role: str
    index: str
    """Empty for what stands beside the members."""
    container: str
    """The one that does the training."""
    state: str
    restarts: int
    exit_code: int | None
    since: str
    """When its pod was started."""

    @property
    def label(self) -> str:
        return label(self.role, self.index)


def rows(book: Book) -> list[Row]:
    """In the framework's order of roles."""
    order = {role.name.lower(): number for number, role in enumerate(book.framework.roles)}
    found = [row(book, pod) for pod in book.pods.values()]
    return sorted(found, key=lambda r: (order.get(r.role, len(order)), int(r.index or 0)))


def row(book: Book, pod: Raw) -> Row:
    name, own = pod["metadata"]["name"], container(book.framework, pod)
    tags = pod["metadata"].get("labels") or {}
    return Row(
        pod=name,
        role=tags.get(labels.REPLICA_TYPE, ""),
        index=tags.get(labels.REPLICA_INDEX, ""),
        container=own["name"],
        state=state(pod, own),
        restarts=book.replaced[name] + restarts(pod),
        exit_code=_newest_code(book, pod),
        since=pod["status"].get("startTime", ""),
    )


def label(role: str, index: str) -> str:
    return f"{role}-{index}" if index else role


def named(pod: Raw) -> str:
    tags = pod["metadata"].get("labels") or {}
    return label(tags.get(labels.REPLICA_TYPE, ""), tags.get(labels.REPLICA_INDEX, ""))


def container(framework: Framework[Any], pod: Raw) -> Raw:
    """The status of the container that does the training, or of the first; only its name before it has one."""
    told = pod["status"].get("containerStatuses") or [{"name": c["name"]} for c in pod["spec"]["containers"]]
    found: Raw = next((c for c in told if c["name"] == framework.container), told[0])
    return found


def state(pod: Raw, own: Raw) -> str:
    going, now = "deletionTimestamp" in pod["metadata"], own.get("state") or {}
    phase = pod["status"].get("phase", "Pending")
    if phase in ("Succeeded", "Failed"):
        return "stopped" if going else phase.lower()
    if going:
        return "stopping"
    if (now.get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return "back-off"
    return "running" if phase == "Running" else "starting"


def _newest_code(book: Book, pod: Raw) -> int | None:
    """Also of the pod before: that is why there is a new one."""
    code = exit_code(container(book.framework, pod))
    before = book.before.get(pod["metadata"]["name"])
    return exit_code(container(book.framework, before)) if code is None and before else code


def exit_code(own: Raw) -> int | None:
    """Of its newest end."""
    for field in ("state", "lastState"):
        if ended := (own.get(field) or {}).get("terminated"):
            return int(ended["exitCode"])
    return None


def failure(framework: Framework[Any], pod: Raw) -> tuple[int, int]:
    """The code with which it last ended by itself, 0 if it never failed so; and how many starts ago that was."""
    own = container(framework, pod)
    now, before = own.get("state") or {}, (own.get("lastState") or {}).get("terminated")
    if "terminated" in now and "deletionTimestamp" not in pod["metadata"]:
        return int(now["terminated"]["exitCode"]), 0
    return (int(before["exitCode"]), 0 if "waiting" in now else 1) if before else (0, 0)


def meaning(code: int) -> str:
    """`code 137 (SIGKILL)`."""
    try:
        name = signal.Signals(code - 128).name if code > 128 else ""
    except ValueError:
        name = ""
    return f"code {code}" + (f" ({name})" if name else "")
