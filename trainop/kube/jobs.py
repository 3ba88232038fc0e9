"""The users' jobs as they were last heard of, whoever told: the watch, or the answer to our own write."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainop.api.status import JobStatus
from trainop.model import GVK, Event, Job, Key


class Story(Struct, frozen=True):
    """A status that is to be stored, and what is told once it is."""

    job: Job[Any]
    status: JobStatus
    events: tuple[Event, ...]


class Jobs:
    def __init__(self) -> None:
        self._held: dict[Key, Mapping[str, Any]] = {}
        self._due: dict[Key, float] = {}
        self.unsure: dict[Key, Story] = {}
        """Statuses that were sent and may have been stored: no answer came."""

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._held))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Key) -> Mapping[str, Any] | None:
        return self._held.get(key)

    def put(self, key: Key, raw: Mapping[str, Any]) -> bool:
        """The newest resourceVersion wins. False when this one was known already, or is older."""
        held = self._held.get(key)
        if held is not None and _version(held) >= _version(raw):
            return False
        self._held[key] = raw
        return True

    def put_off(self, key: Key, longest: float) -> float:
        """Seconds that a write may still wait, counted from the first time it was put off."""
        now = time.monotonic()
        return max(0.0, self._due.setdefault(key, now + longest) - now)

    def put_off_no_longer(self, key: Key) -> None:
        self._due.pop(key, None)

    @property
    def settled(self) -> bool:
        """No write has been put off."""
        return not self._due

    def drop(self, key: Key, uid: str) -> None:
        """Unless the name is another job's by now."""
        held = self._held.get(key)
        if held is not None and held["metadata"].get("uid") == uid:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        del self._held[key]
        self._due.pop(key, None)
        self.unsure.pop(key, None)

    def compare(self, gvk: GVK, namespace: str | None, there: set[str], version: str) -> tuple[Key, ...]:
        """Drop what a list of that version does not have (`there`: the UIDs it has), and say what that was:
        the watch has missed its end."""
        gone = tuple(
            key
            for key, raw in self._held.items()
            if key.gvk == gvk
            and namespace in (None, key.namespace)
            and raw["metadata"].get("uid") not in there
            and _version(raw) <= int(version)
        )
        for key in gone:
            self._forget(key)
        return gone

    def has(self, gvk: GVK, uids: set[str]) -> bool:
        """Whether all of these have been heard of."""
        return uids <= {raw["metadata"].get("uid") for key, raw in self._held.items() if key.gvk == gvk}


def _version(raw: Mapping[str, Any]) -> int:
    return int(raw["metadata"].get("resourceVersion") or 0)
