"""Events: told once per transition, counted on repetition, harmless in their words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_job, framework
from tests.cluster.controlplane import Cluster
from tests.frameworks.dialects import a_raw, a_replica, dialect
from trainop.api.base import rfc3339
from trainop.errors import Unreachable
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.kube.cluster import wall_clock
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, Raw, Resource
from trainop.kube.recorder import LONGEST, Recorder
from trainop.model import Event
from trainop.parse import parse

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


async def test_an_event_of_a_job_of_2017_has_the_words_of_then(memory: Memory, recorder: Recorder) -> None:
    """legacy §3.8. A pod and a service that cannot be made are two stories, though their reason is one."""
    tfjob = dialect("tensorflow.org", "TfJob")
    job = parse(tfjob, a_raw(tfjob, a_replica("tensorflow")))
    created = [
        Event("Normal", f"SuccessfulCreate{it}", f"Created {it.lower()}: a") for it in ("Pod", "Service")
    ]
    failed = [
        Event("Warning", f"FailedCreate{it}", "Error creating: no", story="Master")
        for it in ("Pod", "Service")
    ]
    recorder.tell(tfjob, job, [*created, *failed, Event("Normal", "TfJobSucceeded", "done")])
    await recorder.drained()
    told = [(it["reason"], it["message"], it["source"]["component"]) for it in await events(memory)]
    assert sorted(told) == [
        ("FailedCreate", "Error creating: no", "kubeflow"),
        ("FailedCreate", "Error creating: no", "kubeflow"),
        ("SuccessfulCreate", "Created pod: a", "kubeflow"),
        ("SuccessfulCreate", "Created service: a", "kubeflow"),
        ("TfJobSucceeded", "done", "kubeflow"),
    ]


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


async def test_a_story_is_told_once_and_again_only_after_a_while(memory: Memory) -> None:
    clock = [NOW]
    recorder = Recorder(memory, lambda: clock[0])
    running = asyncio.create_task(recorder.run())
    for minutes in (0, 1, 9, 10, 19, 21):
        clock[0] = NOW + timedelta(minutes=minutes)
        words = f"back-off {minutes}m restarting failed container"
        recorder.tell(TF, JOB, [Event("Warning", "CrashLoopBackOff", words, story="pod-uid tensorflow")])
    await recorder.drained()
    running.cancel()
    (event,) = await events(memory)
    assert event["count"] == 3
    assert event["message"] == "back-off 21m restarting failed container"
    assert event["lastTimestamp"] == rfc3339(clock[0])


async def test_stories_that_differ_in_whom_they_are_about_are_all_told(
    memory: Memory, recorder: Recorder
) -> None:
    recorder.tell(TF, JOB, [Event("Warning", "X", "same words", story=str(n)) for n in (1, 2, 1, 2)])
    recorder.tell(TF, JOB, [Event("Warning", "Y", "same words", story="1")])
    await recorder.drained()
    assert [event["count"] for event in await events(memory)] == [1, 1, 1]


async def test_of_too_many_stories_the_one_not_heard_of_for_longest_is_forgotten(
    memory: Memory, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainop.kube.recorder.MOST_REMEMBERED", 2)
    for story in "abacab":
        recorder.tell(TF, JOB, [Event("Warning", "X", story, story=story)])
    await recorder.drained()
    assert {event["message"]: event["count"] for event in await events(memory)} == {"a": 1, "b": 2, "c": 1}


async def test_control_characters_and_length_do_not_reach_the_terminal(
    memory: Memory, recorder: Recorder
) -> None:
    recorder.tell(TF, JOB, [Event("Normal", "X\x1b", "a\x1b[31m\nb" + "ü" * 2000)])
    await recorder.drained()
    (event,) = await events(memory)
    assert event["reason"] == "X "
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


async def test_an_event_that_is_refused_counts_as_dropped_and_is_told_the_next_time(memory: Memory) -> None:
    class Busy(Memory):
        busy = True

        async def create(
            self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[Any]
        ) -> Any:
            if self.busy:
                raise Unreachable("too many requests", code=429)
            return await memory.create(what, namespace, body, shape)

    api, dropped = Busy(), list[None]()
    recorder = Recorder(api, wall_clock, dropped=lambda: dropped.append(None))
    running = asyncio.create_task(recorder.run())
    for _ in ("refused", "taken", "no news"):
        recorder.tell(TF, JOB, [Event("Warning", "CrashLoopBackOff", "a", story="u tensorflow")])
        await recorder.drained()
        api.busy = False
    running.cancel()
    assert len(dropped) == 1
    assert [event["count"] for event in await events(memory)] == [1]


async def test_an_api_server_lets_a_story_go_on_in_other_words(
    control_plane: Cluster, namespace: str
) -> None:
    """Also for an operator that has not told its beginning."""
    job = a_job(TF, Worker=1, metadata={"namespace": namespace})
    async with Client(credentials.load(str(control_plane.kubeconfig))) as client:
        for words in ("back-off 10s", "back-off 20s"):
            recorder = Recorder(client, wall_clock)
            running = asyncio.create_task(recorder.run())
            recorder.tell(TF, job, [Event("Warning", "CrashLoopBackOff", words, story="u tensorflow")])
            await recorder.drained()
            running.cancel()
        found = await client.list(EVENTS, dict, namespace=namespace)
    (event,) = [item for item in found.items if item["involvedObject"]["name"] == job.name]
    assert (event["message"], event["count"]) == ("back-off 20s", 2)
