"""The watch on jobs: what is held of them, and which are to be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.builders import framework
from trainop.kube.jobs import Jobs
from trainop.kube.jobwatch import JobWatch
from trainop.kube.memory import Memory
from trainop.kube.port import Change, Raw, Resource
from trainop.kube.wire import RawJob
from trainop.model import Key

TF = framework("tensorflow")
TFJOBS = Resource(TF.group, TF.version, TF.plural)


def key(name: str) -> Key:
    return Key(TF.gvk, "ns", name)


class Told:
    """What a watch on jobs says, in its order."""

    def __init__(self, api: Memory) -> None:
        self.jobs, self.words = Jobs(), asyncio.Queue[str]()
        self.watch = JobWatch(
            api,
            TF.gvk,
            TF.plural,
            self.jobs,
            wake=lambda key: self.words.put_nowait(f"look at {key.name}"),
            gone=lambda key: self.words.put_nowait(f"{key.name} is gone"),
        )

    async def next(self) -> str:
        async with asyncio.timeout(20):
            return await self.words.get()


@asynccontextmanager
async def following(api: Memory) -> AsyncIterator[Told]:
    told = Told(api)
    task = asyncio.create_task(told.watch.run())
    try:
        yield told
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def make(api: Memory, name: str) -> RawJob:
    return await api.create(TFJOBS, "ns", {"metadata": {"name": name}}, RawJob)


async def store(api: Memory, name: str, status: Raw) -> RawJob:
    return await api.patch(TFJOBS, "ns", name, {"status": status}, RawJob, subresource="status")


async def test_a_job_is_held_from_the_first_list_or_line_to_its_end() -> None:
    api = Memory()
    await make(api, "a")
    async with following(api) as told:
        assert await told.next() == "look at a"
        made = await make(api, "b")
        assert await told.next() == "look at b"
        assert told.jobs.get(key("b")) == made
        await api.remove(TFJOBS, "ns", "a")
        assert await told.next() == "a is gone"
        assert list(told.jobs) == [key("b")]


async def test_what_our_own_write_has_told_is_no_news() -> None:
    api = Memory()
    await make(api, "a")
    async with following(api) as told:
        await told.next()
        told.jobs.put(key("a"), await store(api, "a", {"progress": "1/1"}))
        await make(api, "b")
        assert await told.next() == "look at b"


async def test_nor_is_it_when_the_watch_is_faster_than_the_answer() -> None:
    api = Memory()
    await make(api, "a")
    async with following(api) as told:
        await told.next()
        told.jobs.writing.add(key("a"))
        stored = await store(api, "a", {"progress": "1/1"})
        await make(api, "b")
        assert await told.next() == "look at b"
        assert told.jobs.get(key("a")) == stored


async def test_what_someone_else_writes_is_news() -> None:
    api = Memory()
    await make(api, "a")
    async with following(api) as told:
        await told.next()
        await store(api, "a", {"progress": "1/1"})
        assert await told.next() == "look at a"


async def test_an_end_that_was_missed_is_found_out_by_the_next_list() -> None:
    told = Told(Memory())
    told.watch._take_all([a_job("a", 3), a_job("b", 4)], 5, restored=False)
    told.watch._take_all([a_job("b", 4)], 9, restored=False)
    assert [await told.next() for _ in range(3)] == ["look at a", "look at b", "a is gone"]
    assert list(told.jobs) == [key("b")]


async def test_a_list_older_than_what_is_held_ends_nothing() -> None:
    told = Told(Memory())
    told.jobs.put(key("a"), a_job("a", 7))
    told.watch._take_all([], 5, restored=False)
    assert list(told.jobs) == [key("a")]


async def test_another_job_of_the_same_name_is_not_the_one_that_has_ended() -> None:
    told = Told(Memory())
    told.watch._take_all([a_job("a", 3)], 5, restored=False)
    told.watch._take(Change("ADDED", a_job("a", 7, uid="new")))
    told.watch._take(Change("DELETED", a_job("a", 8)))
    held = told.jobs.get(key("a"))
    assert held is not None
    assert held["metadata"]["uid"] == "new"


async def test_a_cluster_restored_from_an_older_copy_is_believed() -> None:
    told = Told(Memory())
    told.watch._take_all([a_job("a", 40), a_job("b", 45)], 50, restored=False)
    told.watch._take_all([a_job("a", 20)], 30, restored=True)
    assert list(told.jobs) == [key("a")]
    assert told.jobs.get(key("a")) == a_job("a", 20)


def a_job(name: str, version: int, *, uid: str = "") -> RawJob:
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": uid or f"u-{name}",
            "resourceVersion": str(version),
        }
    }
