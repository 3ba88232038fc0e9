"""Events that are told at one moment: on their way together, but not too many, and counted all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from tests.builders import TF, a_job
from tests.production.process import once
from tests.test_recorder import JOB, events
from trainop.errors import Refused
from trainop.kube.cluster import wall_clock
from trainop.kube.memory import Memory
from trainop.kube.port import Resource
from trainop.kube.recorder import AT_ONCE, Recorder
from trainop.model import Event

T = TypeVar("T")


class Busy(Memory):
    """Answers nobody until it is let, and knows how many have asked."""

    def __init__(self, refused: str = "") -> None:
        super().__init__()
        self.refused, self.under_way, self.most = refused, 0, 0
        self.let = asyncio.Event()

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.let.wait()
            if body["message"] == self.refused:
                raise Refused("no", code=403, reason="Forbidden")
            return await super().create(what, namespace, body, shape)
        finally:
            self.under_way -= 1


@asynccontextmanager
async def telling(api: Memory) -> AsyncIterator[Recorder]:
    recorder = Recorder(api, wall_clock)
    running = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        running.cancel()
        await asyncio.wait([running])


def different(number: int) -> list[Event]:
    return [Event("Normal", "X", str(n)) for n in range(number)]


async def test_different_events_are_on_their_way_together_but_not_too_many() -> None:
    busy = Busy()
    async with asyncio.timeout(30), telling(busy) as recorder:
        recorder.tell(TF, JOB, different(3 * AT_ONCE + 1))
        await once("as many as may be are on their way", lambda: busy.under_way == AT_ONCE)
        busy.let.set()
        await recorder.drained()
    assert busy.most == AT_ONCE
    assert len(await events(busy)) == 3 * AT_ONCE + 1


async def test_an_event_that_is_told_a_moment_after_another_goes_with_it() -> None:
    busy = Busy()
    async with asyncio.timeout(30), telling(busy) as recorder:
        recorder.tell(TF, JOB, [Event("Normal", "X", "one")])
        await asyncio.sleep(0)  # the recorder has it in hand
        recorder.tell(TF, JOB, [Event("Normal", "X", "another")])
        await once("both are on their way", lambda: busy.under_way == 2)
        busy.let.set()
        await recorder.drained()


async def test_the_same_event_is_counted_however_it_falls_into_batches() -> None:
    busy = Busy()
    async with asyncio.timeout(30), telling(busy) as recorder:
        same, others = Event("Warning", "X", "same"), different(AT_ONCE)
        recorder.tell(TF, JOB, [same, *others[:5], same, same, *others[5:], same])
        await once("the first batch is on its way", lambda: busy.under_way)
        busy.let.set()
        await recorder.drained()
    counts = {event["message"]: event["count"] for event in await events(busy)}
    assert counts == {"same": 4, **{event.message: 1 for event in others}}


async def test_one_that_is_refused_keeps_no_other_of_its_batch_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    busy = Busy(refused="1")
    busy.let.set()
    async with asyncio.timeout(30), telling(busy) as recorder:
        recorder.tell(TF, JOB, different(3))
        await recorder.drained()
    assert {event["message"] for event in await events(busy)} == {"0", "2"}
    assert "not recorded: no" in caplog.text


async def test_of_two_jobs_of_one_name_each_has_its_own_events() -> None:
    memory, twin = Memory(), a_job(TF, Worker=1, metadata={"namespace": "elsewhere", "uid": "another"})
    async with asyncio.timeout(30), telling(memory) as recorder:
        for job in (JOB, twin):
            recorder.tell(TF, job, [Event("Normal", "X", "same words")])
        await recorder.drained()
    found = {(event["metadata"]["namespace"], event["count"]) for event in await events(memory)}
    assert found == {(JOB.namespace, 1), ("elsewhere", 1)}
