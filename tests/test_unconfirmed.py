"""What we have made and no watch tells of: it is asked for, and then known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar, cast

import pytest

from tests.test_cache import MNIST, Watched, owned_by, running
from trainop.kube import cache, wire
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Change, Resource

T = TypeVar("T")


class Deaf(Memory):
    """Its watches tell nothing. Counts who asks."""

    asked = 0

    async def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[Change[T]]:
        await asyncio.Event().wait()
        yield cast(Change[T], None)

    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T:
        self.asked += 1
        return await super().get(what, namespace, name, shape)


async def test_what_no_watch_tells_of_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY, rule 5."""
    monkeypatch.setattr(cache, "UNCONFIRMED", 0.01)
    api = Deaf()
    watched = Watched(api)
    async with running(watched.cache), asyncio.timeout(20):
        await watched.cache.synced.wait()
        for name in ("gone", "there"):
            body = {"metadata": {"name": name, "ownerReferences": owned_by(MNIST)}}
            watched.cache.put(await api.create(PODS, "ns", body, wire.Pod))
        await api.remove(PODS, "ns", "gone")
        await api.patch(PODS, "ns", "there", {"status": {"phase": "Running"}}, dict, subresource="status")
        await watched.until({"there": "Running"})
        assert not watched.cache._unconfirmed
    assert api.asked == 2
