"""Events: told once per transition, counted on repetition, harmless in their words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.builders import a_job, framework
from trainop.kube.cluster import wall_clock
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, Raw
from trainop.kube.recorder import LONGEST, Recorder
from trainop.model import Event

TF = framework("tensorflow")
JOB = a_job(TF, Worker=1)


@pytest.fixture
async def memory() -> Memory:
    return Memory()


@pytest.fixture
async def recorder(memory: Memory) -> AsyncIterator[Recorder]:
    recorder = Recorder(memory, wall_clock)
    running = asyncio.create_task(recorder.run())
    yield recorder
    running.cancel()


async def events(memory: Memory) -> list[Raw]:
    return (await memory.list(EVENTS, dict)).items


async def test_an_event_names_the_job_and_who_tells(memory: Memory, recorder: Recorder) -> None:
    recorder.tell(TF, JOB, [Event("Normal", "TFJobSucceeded", "done")])
    await recorder.drained()
    (event,) = await events(memory)
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "TFJobSucceeded", "done")
    assert event["source"] == {"component": "tfjob-controller"}
    assert event["involvedObject"]["uid"] == JOB.uid
    assert event["involvedObject"]["kind"] == "TFJob"
    assert event["count"] == 1


async def test_the_same_event_again_is_counted_also_by_another_process(
    memory: Memory, recorder: Recorder
) -> None:
    recorder.tell(TF, JOB, [Event("Warning", "TFJobRestarting", "again")] * 2)
    await recorder.drained()
    other = Recorder(memory, wall_clock)
    running = asyncio.create_task(other.run())
    other.tell(TF, JOB, [Event("Warning", "TFJobRestarting", "again")])
    await other.drained()
    running.cancel()
    (event,) = await events(memory)
    assert event["count"] == 3


async def test_control_characters_and_length_do_not_reach_the_terminal(
    memory: Memory, recorder: Recorder
) -> None:
    recorder.tell(TF, JOB, [Event("Normal", "X", "a\x1b[31m\nb" + "ü" * 2000)])
    await recorder.drained()
    (event,) = await events(memory)
    assert event["message"].startswith("a [31m b")
    assert len(event["message"].encode()) <= LONGEST
    assert event["message"].endswith("…")


async def test_a_server_that_takes_no_events_stops_nothing(memory: Memory) -> None:
    recorder = Recorder(memory, wall_clock, room=3)
    recorder.tell(TF, JOB, (Event("Normal", "X", str(number)) for number in range(5)))
    running = asyncio.create_task(recorder.run())
    await recorder.drained()
    running.cancel()
    assert {event["message"] for event in await events(memory)} == {"0", "1", "2"}
