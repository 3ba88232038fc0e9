"""The users' jobs as they were last heard of, whoever told: the watch, or the answer to our own write."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from typing import Any

from msgspec import Struct

from trainop.api.status import JobStatus
from trainop.kube.wire import RawJob
from trainop.model import GVK, Event, Job, Key


class Story(Struct, frozen=True):
    """A status that is to be stored, and what is told once it is."""

    job: Job[Any]
    status: JobStatus
    events: tuple[Event, ...]


class Jobs:
    def __init__(self) -> None:
        self._held: dict[Key, RawJob] = {}
        self.parsed: dict[Key, Job[Any]] = {}
        """Those that go on, as they were read the last time."""
        self._due: dict[Key, float] = {}
        self.writing: set[Key] = set()
        """Whose status is being stored: the watch may tell of that before the answer does."""
        self.unsure: dict[Key, Story] = {}
        """Statuses that were sent and may have been stored: no answer came."""

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._held))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Key) -> RawJob | None:
        return self._held.get(key)

    def put(self, key: Key, raw: RawJob) -> bool:
        """The newest resourceVersion wins. False when this one was known already, or is older."""
        held = self._held.get(key)
        if held is not None and _version(held) >= _version(raw):
            return False
        self._held[key] = raw
        return True

    def moved_on(self, key: Key, version: str) -> bool:
        """Whether it is known in another version than that."""
        held = self._held.get(key)
        return held is not None and held["metadata"].get("resourceVersion") != version

    def remember(self, job: Job[Any]) -> None:
        if job.status.finished:
            self.parsed.pop(job.key, None)  # of thousands nobody asks again
        else:
            self.parsed[job.key] = job

    def put_off(self, key: Key, longest: float) -> float:
        """Seconds that a write may still wait, counted from the first time it was put off."""
        now = time.monotonic()
        left = self._due.setdefault(key, now + longest) - now
        return min(max(0.0, left), longest)  # a sum and its difference may be an ulp more

    def put_off_no_longer(self, key: Key) -> None:
        self._due.pop(key, None)

    @property
    def settled(self) -> bool:
        """No write has been put off."""
        return not self._due

    def drop(self, key: Key, uid: str) -> None:
        """Unless the name is another job's by now."""
        held = self._held.get(key)
        if held is not None and held["metadata"]["uid"] == uid:
            self.forget(key)

    def forget(self, key: Key) -> None:
        """Also what a pass that was under way when the job went has left of it."""
        self._held.pop(key, None)
        self.parsed.pop(key, None)
        self._due.pop(key, None)
        self.unsure.pop(key, None)

    def keep_only(self, there: Container[str], gvk: GVK, namespace: str | None, version: float) -> list[Key]:
        """Drop those whose UID is not `there`, in a list of that version, and say which: their end was missed."""
        gone = [
            key
            for key, raw in self._held.items()
            if key.gvk == gvk
            and namespace in (None, key.namespace)
            and raw["metadata"]["uid"] not in there
            and _version(raw) <= version
        ]
        for key in gone:
            self.forget(key)
        return gone


def _version(raw: RawJob) -> int:
    return int(raw["metadata"].get("resourceVersion") or 0)
