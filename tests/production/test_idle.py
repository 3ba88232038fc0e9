"""How often the API server is asked: seldom for a job, and never when there is nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable

from tests.production.process import once, until
from tests.production.proxy import Call, Hold, Match
from tests.production.site import Replica, Site, end, finish
from tests.scenarios.stage import Stage

BUDGET = 30
WINDOW = 8.0
"""Seconds."""


def counts(call: Call) -> bool:
    """All but what goes on for ever: streams, and the lease."""
    return call.verb != "watch" and call.resource != "leases"


async def cost(site: Site) -> Counter[str]:
    """What is asked for a job of two parameter servers and eight workers, from its submission to its end."""
    job = site.job("job", PS=2, Worker=8)
    async with site.operator(*site.election) as replica:
        await until("it leads", replica.operator.leads)
        await _quiet(replica)
        start = len(replica.proxy.trace)
        await job.submit({"cleanPodPolicy": "None"})
        await job.until(lambda: _have_all(job), "all children")
        await _at_one_moment(replica, *(job.kubelet.run(name) for name in job.children()))
        await job.until_state("Running")
        await end(job)
        await _quiet(replica)
        return Counter(_what(entry.call) for entry in replica.proxy.trace[start:] if counts(entry.call))


async def test_each_child_of_a_job_is_one_request_and_its_status_at_most_four(site: Site) -> None:
    calls = await cost(site)
    assert calls["create pods"] == calls["create services"] == 10
    assert calls["patch tfjobs"] <= 4
    assert set(calls) <= {"create pods", "create services", "patch tfjobs", "create events"}


async def test_a_job_of_ten_members_costs_at_most_thirty_requests(site: Site) -> None:
    calls = await cost(site)
    assert calls.total() <= BUDGET, calls


async def test_who_has_nothing_to_do_asks_nothing(site: Site) -> None:
    jobs = [site.job(f"job-{n}", PS=1, Worker=1) for n in range(5)]
    async with site.operator(*site.election) as replica:
        for job in jobs:
            await job.submit()
        for job in jobs:
            await finish(job)
        for job in jobs:
            await job.until_pods_are([job.child("Worker")])
        await _quiet(replica)
        begin = len(replica.proxy.trace)
        await asyncio.sleep(WINDOW)
        calls = [entry.call for entry in replica.proxy.trace[begin:]]
    assert [str(call) for call in calls if counts(call)] == []
    assert any(call.resource == "leases" for call in calls)


async def _at_one_moment(replica: Replica, *deeds: Awaitable[None]) -> None:
    """However slow the machine: the operator hears of all of them at once."""
    silence = replica.proxy.rule(Match("watch", "pods"), Hold(), count=1)
    await once("the stream is silent", lambda: silence.struck)
    await asyncio.gather(*deeds)
    silence.end()


async def _have_all(job: Stage) -> bool:
    return sorted(await job.pods()) == sorted(await job.services()) == job.children()


async def _quiet(replica: Replica) -> None:
    """Counters and events, which may wait a moment, have been told."""
    await once("nothing is asked", lambda: not replica.proxy.calls(counts, since=time.monotonic() - 2))


def _what(call: Call) -> str:
    return f"{call.verb} {call.resource}"
