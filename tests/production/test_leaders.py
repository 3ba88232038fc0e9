"""Two replicas, of which one leads: whatever becomes of it, the other goes on, and nothing is made twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from signal import Signals

from tests.production.process import once, until
from tests.production.proxy import Call, Hold, Match, Rule
from tests.production.site import QUICK, Replica, Site, end, finish
from tests.scenarios.stage import Stage
from trainop.kube.port import PODS, SERVICES

SLOW_MACHINE = 5.0
"""Seconds on top of what is promised for a machine that has nothing else to do."""
Tell = Callable[[str, object], None]


async def takeover(heir: Replica, since: float, tell: Tell) -> float:
    """Seconds from then until it leads."""
    await until("the other replica leads", heir.operator.leads)
    lasted = time.monotonic() - since
    tell("seconds to take over", f"{lasted:.2f}")
    return lasted


def made_once(site: Site, *jobs: Stage) -> None:
    names = sorted(name for job in jobs for name in job.children())
    for kind in (PODS, SERVICES):
        created = site.witness.created(kind)
        assert sorted(created) == names
        assert set(created.values()) == {1}


def story(site: Site, job: Stage) -> list[str]:
    """The conditions that it ever got, in order."""
    seen: list[str] = []
    for revision in site.witness.history():
        if revision.kind == job.jobs and revision.name == job.name:
            conditions = revision.object.get("status", {}).get("conditions", ())
            seen += [c["type"] for c in conditions if c["status"] == "True" and c["type"] not in seen]
    return seen


async def test_a_leader_killed_in_mid_creation_is_followed_and_no_child_is_made_twice(
    site: Site, record_property: Tell
) -> None:
    job = site.job("big", PS=4, Worker=36)
    async with site.pair(*QUICK) as (leader, heir):
        # One pod more than the leader will ever know of, and then nothing.
        last = leader.proxy.rule(Match("create", "pods"), Hold(after=True), skip=15, count=1)
        rest = leader.proxy.rule(Match("create", "pods"), Hold(), skip=15)
        await job.submit()
        await once("creation is under way", lambda: last.struck and rest.struck)
        await until("the last pod is made", lambda: _are_made(16, job))
        made = await job.pods()
        leader.operator.send(Signals.SIGKILL)
        assert await takeover(heir, time.monotonic(), record_property) < 3 + 0.5 + SLOW_MACHINE
        await finish(job)
        await site.witness.caught_up()
    made_once(site, job)
    assert {name: pod["metadata"]["uid"] for name, pod in made.items()}.items() <= {
        name: pod["metadata"]["uid"] for name, pod in site.witness.last(PODS).items()
    }.items()


async def test_a_leader_that_slept_for_twenty_seconds_finds_another_one_and_its_late_writes_change_nothing(
    site: Site, record_property: Tell
) -> None:
    before, during = site.job("before", Worker=20), site.job("during", Worker=2)
    async with site.pair() as (sleeper, heir):
        held = sleeper.proxy.rule(Match("create", name="before-*"), Hold(), skip=8)
        await before.submit()
        await once("creation is under way", lambda: held.struck)
        sleeper.operator.send(Signals.SIGSTOP)
        asleep = time.monotonic()
        assert await takeover(heir, asleep, record_property) < 15 + 1 + SLOW_MACHINE
        await during.submit()
        await finish(during)
        await before.run_all()

        held.end()  # what the network had kept arrives now
        await once("late writes arrive", lambda: len(_codes(sleeper, held)) == held.struck)
        await asyncio.sleep(max(0.0, asleep + 20 - time.monotonic()))
        awake = time.monotonic()
        sleeper.operator.send(Signals.SIGCONT)
        await until("the sleeper knows that it does not lead", sleeper.operator.follows)
        assert await heir.operator.leads()
        await end(before)
        await site.witness.caught_up()
        assert set(_codes(sleeper, held)) == {409}
        later = [e for e in sleeper.proxy.calls(_on_behalf_of_a_job, awake) if e.code < 300]
        assert not later
        assert await sleeper.operator.follows()
    made_once(site, before, during)
    assert story(site, before) == story(site, during) == ["Created", "Running", "Succeeded"]


async def test_a_late_write_that_arrives_after_the_end_of_the_job_is_undone_and_no_other_is_sent(
    site: Site, record_property: Tell
) -> None:
    job = site.job("job", Worker=20)
    site.witness.excused = "S3"  # nobody can keep it from coming
    async with site.pair(*QUICK) as (sleeper, heir):
        held = sleeper.proxy.rule(Match("create", name="job-*"), Hold(), skip=1)
        await job.submit()
        await once("creation is under way", lambda: held.struck)
        sleeper.operator.send(Signals.SIGSTOP)
        await takeover(heir, time.monotonic(), record_property)
        await finish(job)
        await job.until_pods_are([job.child("Worker")])
        held.end()
        await once("late writes arrive", lambda: len(_codes(sleeper, held)) == held.struck)
        assert 201 in _codes(sleeper, held)
        await job.until_pods_are([job.child("Worker")])
        awake = time.monotonic()
        sleeper.operator.send(Signals.SIGCONT)
        await until("the sleeper knows that it does not lead", sleeper.operator.follows)
        assert not sleeper.proxy.calls(_on_behalf_of_a_job, awake)
        await job.until_pods_are([job.child("Worker")])
    assert story(site, job) == ["Created", "Running", "Succeeded"]


async def test_a_leader_that_is_told_to_end_hands_over_at_once(site: Site, record_property: Tell) -> None:
    job = site.job("rolled", PS=2, Worker=2)
    async with site.pair() as (leader, heir):
        await job.submit()
        await job.run_all()
        leader.operator.send(Signals.SIGTERM)
        assert await takeover(heir, time.monotonic(), record_property) < 2 + SLOW_MACHINE
        assert await leader.operator.exit_code() == 0
        await finish(job)
        await site.witness.caught_up()
    made_once(site, job)
    assert story(site, job) == ["Created", "Running", "Succeeded"]


async def test_who_takes_over_knows_everything_already(site: Site, record_property: Tell) -> None:
    jobs = [site.job(f"job-{n}", Worker=1) for n in range(20)]
    async with site.pair(*QUICK) as (leader, heir):
        for job in jobs:
            await job.submit()
        for job in jobs:
            await job.run_all()
        assert await heir.operator.sample("trainop_cache_objects", resource="jobs") == len(jobs)
        for waits in ("trainop_queue_depth", "trainop_queue_oldest_seconds"):  # an alert would ring
            assert await heir.operator.sample(waits) == 0
        started = time.monotonic()
        leader.operator.send(Signals.SIGTERM)
        await takeover(heir, started, record_property)
        for job in jobs:
            await end(job)
        await site.witness.caught_up()
        reads = heir.proxy.calls(
            lambda call: call.verb in ("list", "get") and call.resource != "leases", started
        )
    assert [str(entry.call) for entry in reads] == []
    made_once(site, *jobs)


async def _are_made(number: int, job: Stage) -> bool:
    return len(await job.pods()) == number


def _on_behalf_of_a_job(call: Call) -> bool:
    """Events are not: they only tell what has happened."""
    return call.writes and call.resource not in ("leases", "events")


def _codes(replica: Replica, rule: Rule) -> list[int]:
    return [entry.code for entry in replica.proxy.trace if entry.rule is rule]
