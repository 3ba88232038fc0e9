"""An operator that dies at the n-th write it makes, before or after the API server has taken it, and is restarted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from tests.job_watch import watch_jobs
from trainop.errors import Unreachable
from trainop.framework import Framework
from trainop.kube.port import EVENTS, Api, Change, Listing, Resource
from trainop.model import DEFAULTS, GVK, Settings
from trainop.operator.controller import Controller

T = TypeVar("T")


@dataclass(frozen=True)
class Crash:
    write: int
    """Which of the operator's writes, counted from 0; events are not counted, as nothing depends on them."""
    when: Literal["before", "after"]

    def __str__(self) -> str:
        return f"{self.when}-write-{self.write}"


@dataclass
class Ledger:
    """What the operator has written, over all its lives."""

    writes: Counter[str] = field(default_factory=Counter)
    deaths: int = 0

    @property
    def total(self) -> int:
        return sum(self.writes.values())


class Mortal:
    """The way of one operator process to the API server, until it dies."""

    def __init__(self, api: Api, ledger: Ledger, crashes: set[Crash]) -> None:
        """`crashes` are those still to come; each happens once."""
        self._api, self._ledger, self._crashes = api, ledger, crashes
        self.dead = asyncio.Event()

    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T:
        self._breathe()
        return await self._api.get(what, namespace, name, shape)

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        async with self._write("create", what, body["metadata"]["name"]):
            return await self._api.create(what, namespace, body, shape)

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        async with self._write("delete", what, name):
            await self._api.delete(what, namespace, name, uid)

    async def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> T:
        async with self._write("patch", what, name):
            return await self._api.patch(what, namespace, name, patch, shape, subresource=subresource)

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        self._breathe()
        return await self._api.list(what, shape, namespace=namespace, selector=selector)

    async def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[Change[T]]:
        self._breathe()
        async for change in self._api.watch(what, shape, since=since, namespace=namespace, selector=selector):
            self._breathe()
            yield change

    def _breathe(self) -> None:
        if self.dead.is_set():
            raise Unreachable("this operator is dead")

    @asynccontextmanager
    async def _write(self, verb: str, what: Resource, name: str) -> AsyncIterator[None]:
        self._breathe()
        if what == EVENTS:
            yield
            return
        number = self._ledger.total
        self._die_at(Crash(number, "before"))
        self._ledger.writes[f"{verb} {what.plural}/{name}"] += 1
        try:
            yield
        finally:
            self._die_at(Crash(number, "after"))

    def _die_at(self, crash: Crash) -> None:
        if crash in self._crashes:
            self._crashes.remove(crash)
            self._ledger.deaths += 1
            self.dead.set()
        self._breathe()


@asynccontextmanager
async def operator(
    api: Api,
    frameworks: Mapping[GVK, Framework[Any]],
    ledger: Ledger,
    *crashes: Crash,
    settings: Settings = DEFAULTS,
) -> AsyncIterator[Callable[[], bool]]:
    """An operator that is restarted when it dies. Yields a function: has it nothing left to do?"""
    living: list[Controller] = []

    to_come = set(crashes)

    async def live() -> None:
        way = Mortal(api, ledger, to_come)
        controller = Controller(way, frameworks, settings=settings)
        async with controller.running():
            living[:] = [controller]
            watches = [asyncio.create_task(watch_jobs(way, controller, f)) for f in frameworks.values()]
            try:
                await way.dead.wait()
            finally:
                living.clear()
                for watch in watches:
                    watch.cancel()
                await asyncio.gather(*watches, return_exceptions=True)

    async def supervise() -> None:
        while True:
            await live()

    supervisor = asyncio.create_task(supervise())
    try:
        yield lambda: bool(living) and living[0].queue.idle
    finally:
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)
