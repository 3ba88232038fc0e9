"""An operator that dies at the n-th write it makes, before or after the API server has taken it, and is restarted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

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

    tries: int = 0
    done: Counter[str] = field(default_factory=Counter)
    """What the API server has taken, as far as the operator lived to hear of it."""
    deaths: int = 0


class Mortal:
    """The way of one operator process to the API server, until it dies."""

    def __init__(self, api: Api, ledger: Ledger, crashes: set[Crash]) -> None:
        """`crashes` are those still to come; each happens once."""
        self._api, self._ledger, self._crashes = api, ledger, crashes
        self.dead = asyncio.Event()
        self.heard: dict[Resource, int] = {}
        """The version up to which each kind has been listened to."""

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
        self.heard[what] = int(since)
        async for change in self._api.watch(what, shape, since=since, namespace=namespace, selector=selector):
            self._breathe()
            yield change
            self.heard[what] = version(change.object)

    def _breathe(self) -> None:
        if self.dead.is_set():
            raise Unreachable("this operator is dead")

    @asynccontextmanager
    async def _write(self, verb: str, what: Resource, name: str) -> AsyncIterator[None]:
        self._breathe()
        if what == EVENTS:
            yield
            return
        number = self._ledger.tries
        self._die_at(Crash(number, "before"))
        self._ledger.tries += 1
        try:
            yield
            self._ledger.done[f"{verb} {what.plural}/{name}"] += 1
        finally:
            self._die_at(Crash(number, "after"))

    def _die_at(self, crash: Crash) -> None:
        if crash in self._crashes:
            self._crashes.remove(crash)
            self._ledger.deaths += 1
            self.dead.set()
        self._breathe()


def version(item: Any) -> int:
    """Of an object in any shape."""
    known = item["metadata"]["resourceVersion"] if isinstance(item, dict) else item.metadata.resource_version
    return int(known)


class Operator:
    """What can be told from outside of an operator that is restarted whenever it dies."""

    def __init__(self) -> None:
        self.life: tuple[Mortal, Controller] | None = None

    def at_rest(self, since: Mapping[Resource, int]) -> bool:
        """It has heard of everything up to these versions, and is done with it."""
        if self.life is None:
            return False
        way, controller = self.life
        caught_up = all(way.heard.get(what, 0) >= version for what, version in since.items())
        return caught_up and controller.settled


@asynccontextmanager
async def operator(
    api: Api,
    frameworks: Mapping[GVK, Framework[Any]],
    ledger: Ledger,
    *crashes: Crash,
    namespace: str,
    settings: Settings = DEFAULTS,
) -> AsyncIterator[Operator]:
    """It serves one namespace until the block is left."""
    seen, to_come = Operator(), set(crashes)

    async def live() -> None:
        way = Mortal(api, ledger, to_come)
        controller = Controller(
            way, frameworks, namespaces=[namespace] if namespace else (), settings=settings
        )
        async with controller.running():
            seen.life = way, controller
            try:
                await way.dead.wait()
            finally:
                seen.life = None

    async def supervise() -> None:
        while True:
            await live()

    supervisor = asyncio.create_task(supervise())
    try:
        yield seen
    finally:
        supervisor.cancel()
        with suppress(asyncio.CancelledError):
            await supervisor
