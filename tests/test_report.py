"""When a status is written: at once where there is news, a moment later where more of the same is about to come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from tests.builders import NOW, TF, a_manifest, a_status
from trainop.api.status import JobStatus
from trainop.errors import Conflict, Gone, Stuck, Unreachable
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.act import Outcome
from trainop.kube.caches import Caches
from trainop.kube.cluster import Cluster, resource
from trainop.kube.jobs import Jobs
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, SERVICES, Resource
from trainop.kube.recorder import Recorder
from trainop.kube.report import COUNTERS_MAY_WAIT, catch_up, report
from trainop.kube.wire import RawJob
from trainop.model import DeletePod, Job, Key, Plan, Trouble
from trainop.parse import parse
from trainop.reconcile import reconcile

T = TypeVar("T")
CREATED = a_status("Created", replica_statuses={"Worker": {"active": 0}})
ONE_MORE = replace(CREATED, progress="1/2")
RUNNING = a_status("Created", "Running", replica_statuses={"Worker": {"active": 1}})
DONE_NOTHING = Outcome()
KEY = Key(TF.gvk, "ns", "mnist")
LONG = 1_000.0
"""Seconds for which no test runs."""


class Site(Memory):
    """Counts what is written."""

    written = 0

    def __init__(self) -> None:
        super().__init__()
        self.before_it_is_stored: Callable[[], None] = lambda: None
        self.before_the_answer: Callable[[], None] = lambda: None

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
        self.written += 1
        self.before_it_is_stored()
        stored = await super().patch(what, namespace, name, patch, shape, subresource=subresource)
        self.before_the_answer()
        return stored


class Away(Memory):
    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T:
        raise Unreachable("the API server is away")


@pytest.fixture
async def site() -> Site:
    """It holds a job whose status says that it is created."""
    made = Site()
    await made.create(resource(TF), "ns", a_manifest(TF, Worker=2), dict)
    await made.patch(resource(TF), "ns", "mnist", {"status": CREATED.wire()}, dict, subresource="status")
    made.written = 0
    return made


@pytest.fixture
def cluster(site: Site) -> Cluster:
    return Cluster(
        api=site,
        jobs=Jobs(),
        pods=Caches(site, PODS, wire.Pod, selector="", wake=lambda key: None),
        services=Caches(site, SERVICES, wire.Service, selector="", wake=lambda key: None),
        recorder=Recorder(site, lambda: NOW),
        clock=lambda: NOW,
    )


class Listening:
    def __init__(self) -> None:
        self.heard: list[JobStatus] = []

    def stored(self, framework: Framework[Any], job: Job[Any], status: JobStatus) -> None:
        self.heard.append(status)

    def deleted(self, framework: Framework[Any], job: Job[Any]) -> None: ...


async def told(
    cluster: Cluster, status: JobStatus, outcome: Outcome = DONE_NOTHING, **plan: Any
) -> float | None:
    """What comes of a plan for the job as it is stored."""
    job: Job[Any] = parse(TF, await cluster.api.get(resource(TF), "ns", "mnist", dict))
    return await report(cluster, TF, job, Plan(status=status, **plan), outcome)


async def test_news_are_written_at_once(cluster: Cluster, site: Site) -> None:
    assert await told(cluster, RUNNING, wake_after=60) == 60
    assert site.written == 1


async def test_what_is_no_news_is_not_written(cluster: Cluster, site: Site) -> None:
    assert await told(cluster, CREATED) is None
    assert site.written == 0


async def test_what_may_wait_waits_and_the_job_is_looked_at_again_then(cluster: Cluster, site: Site) -> None:
    wait = await told(cluster, RUNNING, may_wait=LONG)
    assert wait is not None
    assert LONG - 60 < wait <= LONG
    assert (site.written, cluster.jobs.settled) == (0, False)


async def test_the_time_counts_from_the_first_time_that_it_was_put_off(
    cluster: Cluster, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("trainop.kube.jobs.time.monotonic", lambda: clock[0])
    assert await told(cluster, RUNNING, may_wait=10) == 10
    clock[0] = 7
    assert await told(cluster, RUNNING, may_wait=10) == 3
    clock[0] = 10
    assert await told(cluster, RUNNING, may_wait=10) is None
    assert (site.written, cluster.jobs.settled) == (1, True)


async def test_nobody_waits_longer_than_for_the_next_thing_to_do(cluster: Cluster, site: Site) -> None:
    assert await told(cluster, RUNNING, may_wait=LONG, wake_after=5) == 5
    assert site.written == 0


async def test_news_that_may_not_wait_take_with_them_what_did(cluster: Cluster, site: Site) -> None:
    await told(cluster, RUNNING, may_wait=LONG)
    await told(cluster, RUNNING)
    assert (site.written, cluster.jobs.settled) == (1, True)


async def test_counters_alone_wait_a_moment(cluster: Cluster, site: Site) -> None:
    wait = await told(cluster, ONE_MORE)
    assert wait is not None
    assert 0 < wait <= COUNTERS_MAY_WAIT
    assert site.written == 0


async def test_after_something_was_done_nothing_waits(cluster: Cluster, site: Site) -> None:
    await told(cluster, RUNNING, Outcome(done=(DeletePod("Worker", "mnist-worker-0", "u"),)), may_wait=LONG)
    assert site.written == 1


async def test_nothing_stays_put_off_of_a_job_that_goes_in_the_middle_of_a_pass(
    cluster: Cluster, site: Site
) -> None:
    raw: Any = await site.get(resource(TF), "ns", "mnist", dict)
    raw["status"] = replace(RUNNING, start_time=NOW, observed_generation=1).wire()
    key = parse(TF, raw).key
    cluster.jobs.put(key, raw)
    await site.remove(resource(TF), "ns", "mnist")
    assert await reconcile(key, TF, cluster) is not None, "its pods are missing, so its counters have changed"
    assert await reconcile(key, TF, cluster) is None
    assert (site.written, cluster.jobs.settled) == (0, True)


async def test_who_has_heard_of_more_than_his_own_write_looks_again_at_once(
    cluster: Cluster, site: Site
) -> None:
    heard = await site.get(resource(TF), "ns", "mnist", wire.RawJob)
    key = parse(TF, heard).key
    heard["metadata"]["resourceVersion"] = "1000"

    def hear() -> None:
        assert key in cluster.jobs.writing, "the watch wakes nobody now"
        cluster.jobs.put(key, heard)

    site.before_the_answer = hear
    assert await told(cluster, RUNNING, wake_after=60) == 0
    assert not cluster.jobs.writing


@pytest.mark.parametrize(
    ("outcome", "raised"),
    [
        (Outcome(error=Unreachable("busy")), Unreachable),
        (Outcome(trouble=Trouble("QuotaExceeded", "no room")), Stuck),
    ],
)
async def test_where_something_went_wrong_nothing_waits(
    cluster: Cluster, site: Site, outcome: Outcome, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        await told(cluster, RUNNING, outcome, may_wait=LONG)
    assert site.written == 1


# --- a write to which no answer comes -------------------------------------------------------------------------


async def lost(cluster: Cluster, site: Site, *, stored: bool) -> tuple[Cluster, Listening]:
    """RUNNING was sent, and no answer came; no watch tells of the job."""
    listening = Listening()
    cluster = dataclasses.replace(cluster, listener=listening)
    cluster.jobs.put(KEY, await site.get(resource(TF), "ns", "mnist", RawJob))

    def no_answer() -> None:
        raise Unreachable("the connection was closed")

    site.before_it_is_stored, site.before_the_answer = (lambda: None, no_answer)[:: 1 if stored else -1]
    with pytest.raises(Unreachable):
        await told(cluster, RUNNING)
    site.before_it_is_stored = site.before_the_answer = lambda: None
    return cluster, listening


def known(cluster: Cluster) -> Job[Any]:
    return parse(TF, cluster.jobs.get(KEY) or {})


async def test_what_was_stored_without_an_answer_is_told_once_that_is_known(
    cluster: Cluster, site: Site
) -> None:
    cluster, listening = await lost(cluster, site, stored=True)
    with pytest.raises(Conflict):
        await catch_up(cluster, TF, known(cluster))
    assert not listening.heard
    for _ in ("told", "told already"):
        await catch_up(cluster, TF, known(cluster))
    assert [status.conditions for status in listening.heard] == [RUNNING.conditions]


async def test_what_was_not_stored_is_told_when_it_is(cluster: Cluster, site: Site) -> None:
    cluster, listening = await lost(cluster, site, stored=False)
    await catch_up(cluster, TF, known(cluster))
    assert not listening.heard
    await told(cluster, RUNNING)
    await catch_up(cluster, TF, known(cluster))
    assert len(listening.heard) == 1


async def test_as_long_as_nobody_answers_it_is_not_forgotten(cluster: Cluster, site: Site) -> None:
    cluster, listening = await lost(cluster, site, stored=True)
    there = dataclasses.replace(cluster, api=Away())
    for _ in range(3):
        with pytest.raises(Unreachable):
            await catch_up(there, TF, known(cluster))
    cluster.jobs.put(KEY, await site.get(resource(TF), "ns", "mnist", RawJob))  # the watch is back first
    await catch_up(cluster, TF, known(cluster))
    assert len(listening.heard) == 1


async def test_of_a_job_that_is_gone_meanwhile_nothing_is_told(cluster: Cluster, site: Site) -> None:
    cluster, listening = await lost(cluster, site, stored=True)
    await site.delete(resource(TF), "ns", "mnist", known(cluster).uid)
    with pytest.raises(Gone):
        await catch_up(cluster, TF, known(cluster))
    assert cluster.jobs.get(KEY) is None
    assert not listening.heard
