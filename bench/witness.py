"""The witness: watches jobs, pods and services from outside, and notes by its own clock when it saw what first."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from bench.loads import tensorflow
from trainop.engine import labels
from trainop.kube.client import Client
from trainop.kube.cluster import resource
from trainop.kube.port import PODS, SERVICES, Resource
from trainop.kube.wire import Metadata

PATIENCE = 120.0
"""Seconds without anything new after which whoever waits gives up."""


class _Condition(Struct, frozen=True):
    type: str
    status: str = ""


class _Status(Struct, frozen=True):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()


class _Seen(Struct, frozen=True):
    """A pod, a service or a job, as far as anyone asks."""

    metadata: Metadata
    status: _Status = _Status()


class _SeenService(Struct, frozen=True):
    metadata: Metadata


Fact = tuple[str, str, str]
"""Namespace, name of a pod or job, and a phase or condition."""


class Witness:
    def __init__(self, api: Client) -> None:
        self._api = api
        self.there: Counter[tuple[str, str]] = Counter()
        """How many there are, by namespace and plural."""
        self.moments: dict[Fact, float] = {}
        """When a pod was first seen in a phase, or a job with a condition that is true."""
        self._news = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        kinds = ((PODS, _Seen), (SERVICES, _SeenService), (resource(tensorflow()), _Seen))
        self._watches = [asyncio.create_task(self._watch(*kind)) for kind in kinds]
        for watch in self._watches:
            watch.add_done_callback(lambda _: self._news.set())
        try:
            yield
        finally:
            for watch in self._watches:
                watch.cancel()
            await asyncio.gather(*self._watches, return_exceptions=True)

    async def until(self, what: str, holds: Callable[[], bool]) -> float:
        """The moment at which that was seen to hold."""
        while not holds():
            for watch in self._watches:
                if watch.done():
                    watch.result()  # it never ends but with an error
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), PATIENCE)
            except TimeoutError:
                raise TimeoutError(
                    f"nothing new was seen for {PATIENCE:.0f} s; waiting until {what}"
                ) from None
        return time.monotonic()

    async def until_gone(self, namespace: str, plural: str) -> None:
        await self.until(f"all {plural} of {namespace} are gone", lambda: not self.there[namespace, plural])

    def forget(self, namespace: str) -> None:
        """Another round begins."""
        self.moments = {fact: moment for fact, moment in self.moments.items() if fact[0] != namespace}

    async def _watch(self, what: Resource, shape: type[Any]) -> None:
        selector = f"!{labels.JOB_NAME}" if what not in (PODS, SERVICES) else labels.JOB_NAME
        version = (await self._api.list(what, shape, selector=selector)).resource_version
        while True:
            async for change in self._api.watch(what, shape, since=version, selector=selector):
                version = change.object.metadata.resource_version
                if change.type != "BOOKMARK":
                    self._note(what.plural, change.type, change.object)

    def _note(self, plural: str, change: str, seen: Any) -> None:
        where, name = seen.metadata.namespace, seen.metadata.name
        self.there[where, plural] += {"ADDED": 1, "DELETED": -1}.get(change, 0)
        if change != "DELETED" and isinstance(seen, _Seen):
            true = [condition.type for condition in seen.status.conditions if condition.status == "True"]
            for fact in true if plural != "pods" else [seen.status.phase]:
                self.moments.setdefault((where, name, fact), time.monotonic())
        self._news.set()
