"""One tenant's hundreds of jobs, many of them broken, do not delay another's; a busy API server is asked less."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.chart.account import granted
from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.production.process import once, until
from tests.production.proxy import Answer, Call, Delay, Entry, Match
from tests.production.site import Site, finish
from tests.production.witness import Witness
from tests.scenarios.stage import Stage
from trainop.kube.port import PODS, Raw

SOUND, INVALID, TAKEN = 120, 40, 40
LARGE = 200
"""Members."""
UNKNOWN_VOLUME = {
    "name": "tensorflow",
    "image": "train",
    "volumeMounts": [{"name": "no", "mountPath": "/no"}],
}
REFUSED = {"template": {"spec": {"containers": [UNKNOWN_VOLUME]}}}


@pytest.fixture
async def neighbour(site: Site, helm: Helm, tmp_path: Path) -> AsyncIterator[Site]:
    """Another tenant of the same cluster; operators have their rights in both namespaces."""
    name = f"{site.namespace}-b"
    site.cluster.run("create", "namespace", name)
    accounts = ("get", "serviceaccounts", "-n", name, "-o", "name")
    waiting.until("pods can be made there", lambda: "default" in site.cluster.run(*accounts))
    (folder := tmp_path / "both").mkdir()
    with granted(site.cluster, helm, folder, name, site.namespace) as account:
        async with Witness(site.api, name).watching() as witness:
            yield replace(site, namespace=name, account=account, witness=witness)
        witness.check()
    site.cluster.run("delete", "namespace", name, "--wait=false")


async def test_a_small_tenant_is_served_before_a_big_one_is_done(site: Site, neighbour: Site) -> None:
    big, small = await _big_tenant(site), neighbour.job("small", PS=2, Worker=2)
    async with neighbour.operator("--namespace", site.namespace) as replica:
        replica.proxy.rule(Match("create", "pods", namespace=site.namespace), Delay(0.5))
        await once("the operator works on the big one's jobs", lambda: len(_ours(site)) > 4)
        before = len(_ours(site))
        await small.submit()
        await finish(small)
        await until("the big one is served too", lambda: _have_pods(site, len(big)))
        troubles = await _troubles(site)
    await neighbour.witness.caught_up()
    served = max(_ours(neighbour))
    meanwhile = sum(version < served for version in _ours(site))
    assert meanwhile < before + SOUND / 3
    assert troubles == {"InvalidTemplate": INVALID, "NameConflict": TAKEN}


async def test_a_few_jobs_with_hundreds_of_members_do_not_fill_the_line(site: Site, neighbour: Site) -> None:
    """All the workers that one tenant may have are busy with as many requests as may be in flight."""
    big = [site.job(f"big-{n}", Worker=LARGE) for n in range(8)]
    small = neighbour.job("small", Worker=3)
    await asyncio.gather(*(job.submit() for job in big))
    async with neighbour.operator("--namespace", site.namespace) as replica:
        replica.proxy.rule(Match("create", "pods", namespace=site.namespace), Delay(0.1))
        await once("the big ones are under way", lambda: len(_ours(site)) > len(big) * 8)
        before = len(_ours(site))
        await small.submit()
        await once("the small one has its pods", lambda: len(_ours(neighbour)) == 3)
        await neighbour.witness.caught_up()
        await site.witness.caught_up()
        served = max(_ours(neighbour))
        meanwhile = sum(version < served for version in _ours(site)) - before
        assert meanwhile < len(big) * LARGE / 4
        await until("the big one is served too", lambda: _have_pods(site, len(big) * LARGE))


async def test_a_server_that_is_busy_is_asked_less_at_once_and_not_before_the_time_it_said(
    site: Site,
) -> None:
    first, second = site.job("first", Worker=60), site.job("second", Worker=60)
    async with site.operator() as replica:
        proxy = replica.proxy
        slow = proxy.rule(Match("create"), Delay(0.2))
        await first.submit()
        await finish(first)
        most = max(entry.at_once for entry in proxy.calls(_makes_a_child))
        slow.end()

        busy = proxy.rule(Match("create", "pods"), Answer(429, retry_after=1), count=5)
        proxy.rule(Match("create"), Delay(0.2))
        await second.submit()
        await finish(second)
        told = [entry.at for entry in proxy.trace if entry.rule is busy]
        most_then = max(entry.at_once for entry in proxy.calls(_makes_a_child, since=told[-1]))
    assert len(told) == 5
    assert all(after - before >= 0.99 for before, after in pairwise(told))
    assert most > 32
    assert most_then <= most / 2


async def test_a_thousand_members_that_nobody_may_make_cost_one_request_for_each_try(site: Site) -> None:
    """SECURITY: stop at the first 403."""
    job = site.job("forbidden", Worker=1000)
    enforce = "pod-security.kubernetes.io/enforce=restricted"
    site.cluster.run("label", "namespace", site.namespace, enforce)
    async with site.operator() as replica:
        await job.submit()
        told = await job.until_state("Blocked")
        assert told["status"]["conditions"][-1]["reason"] == "Forbidden"

        def refused() -> list[Entry]:
            return [entry for entry in replica.proxy.calls(_makes_a_child) if entry.code == 403]

        await once("it has been tried again", lambda: len(refused()) > 3)
        asked = replica.proxy.calls(_makes_a_child)
    assert len(asked) == len(refused())
    assert {entry.at_once for entry in asked} == {1}


async def _big_tenant(site: Site) -> list[Stage]:
    """All its jobs are there before anybody works on them. Those that can have pods."""
    sound = [site.job(f"sound-{n}") for n in range(SOUND)]
    invalid = [site.job(f"invalid-{n}") for n in range(INVALID)]
    taken = [site.job(f"taken-{n}") for n in range(TAKEN)]
    await asyncio.gather(*(_stranger(site, job.child("Worker")) for job in taken))
    await asyncio.gather(
        *(job.submit() for job in (*sound, *taken)), *(job.submit(Worker=REFUSED) for job in invalid)
    )
    return sound


async def _stranger(site: Site, name: str) -> None:
    spec = {"containers": [{"name": "own", "image": "own"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    await site.api.create(PODS, site.namespace, pod, dict)


def _ours(site: Site) -> list[int]:
    """The versions at which pods of jobs were made."""
    made = (r for r in site.witness.revisions if r.kind == PODS and r.type == "ADDED")
    return [r.version for r in made if r.object["metadata"].get("ownerReferences")]


async def _have_pods(site: Site, pods: int) -> bool:
    return len(_ours(site)) == pods


async def _troubles(site: Site) -> Counter[str]:
    """The reasons of all who are blocked, once all are that should be."""

    async def told() -> Counter[str] | None:
        found = (await site.api.list(site.job("any").jobs, dict, namespace=site.namespace)).items
        reasons = Counter(reason for job in found for reason in _blocked(job))
        return reasons if reasons.total() == INVALID + TAKEN else None

    return await until("all the broken ones say so", told)


def _blocked(job: Raw) -> list[str]:
    conditions: list[Any] = job.get("status", {}).get("conditions", [])
    return [c["reason"] for c in conditions if c["type"] == "Blocked" and c["status"] == "True"]


def _makes_a_child(call: Call) -> bool:
    return call.verb == "create" and call.resource in ("pods", "services")
