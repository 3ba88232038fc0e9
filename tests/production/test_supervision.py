"""Streams that break or fall silent, credentials that expire, an API server that is away: the operator gets over it."""

from __future__ import annotations

import json
import sys
from signal import Signals

import pytest

from tests.production.process import Operator, once, until
from tests.production.proxy import Action, Cut, Error, Hold, Match
from tests.production.site import QUICK, Site, end, finish

STREAMS = 4
"""Pods, services, and two kinds of jobs."""


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Error(500), id="an error of the server"),
        pytest.param(Error(410), id="a version it has forgotten"),
        pytest.param(Cut(), id="a connection that breaks"),
        pytest.param(Cut(mid_line=True), id="a line that is cut"),
    ],
)
async def test_what_happens_while_streams_break_is_found_out_afterwards(site: Site, trouble: Action) -> None:
    during, job = site.job("during", Worker=2), site.job("job", PS=1, Worker=2)
    async with site.operator() as replica:
        await job.submit()
        await job.run_all()
        rule = replica.proxy.rule(Match("watch"), trouble)
        await job.kubelet.exit(job.child("Worker"))
        await during.submit()
        await once("streams were broken, and broken again", lambda: rule.struck > STREAMS)
        rule.end()
        await job.until_state("Succeeded")
        await finish(during)


async def test_a_stream_that_falls_silent_is_opened_anew(site: Site) -> None:
    during, job = site.job("during", Worker=2), site.job("job", PS=1, Worker=2)
    async with site.operator(program=(sys.executable, "-m", "tests.production.impatient")) as replica:
        await job.submit()
        await job.run_all()
        await job.until_state("Running")
        silence = replica.proxy.rule(Match("watch"), Hold(), count=STREAMS)
        await once("all streams are silent", lambda: silence.struck == STREAMS)
        await during.submit()
        await end(job)
        await finish(during)
        silence.end()


async def test_a_token_that_is_not_good_any_more_is_replaced_by_the_one_in_the_file(site: Site) -> None:
    job = site.job("job", PS=1, Worker=2)
    old, new = (_token(site, name) for name in ("old", "new"))
    async with site.proxy() as proxy:
        way = proxy.kubeconfig(site.folder / "kubeconfig", old)
        async with site.started(way, *site.election, *QUICK) as operator:
            await operator.ready()
            await job.submit()
            await job.run_all()
            site.cluster.run("delete", "serviceaccount", "old", "-n", site.namespace)
            await once("the server knows it no longer", lambda: 401 in {entry.code for entry in proxy.trace})
            proxy.rule(Match("watch"), Cut(), count=STREAMS)
            await until("nothing can be renewed any more", operator.follows)
            proxy.kubeconfig(way, new)
            await end(job)
            await until("the lease is renewed again", operator.leads)
        assert old not in operator.words
        assert new not in operator.words


async def test_an_api_server_that_was_away_finds_everything_as_it_should_be(site: Site) -> None:
    during, job = site.job("during", Worker=2), site.job("job", PS=1, Worker=2)
    async with site.operator(*site.election, *QUICK) as replica:
        operator, proxy = replica.operator, replica.proxy
        await job.submit()
        await job.run_all()
        await job.until_state("Running")
        assert await operator.get("/healthz") == (200, "ok\n")
        await proxy.vanish()
        await job.kubelet.exit(job.child("Worker"))
        await during.submit()
        await until("who cannot renew does not lead", operator.follows)
        await until("the probe says so", lambda: _complains(operator, "/healthz", "neither read nor renewed"))
        await proxy.listen()
        await job.until_state("Succeeded")
        await finish(during)
        assert await operator.get("/healthz") == (200, "ok\n")
        assert await operator.get("/readyz") == (200, "ok\n")


async def test_an_operator_is_not_ready_before_it_knows_what_is_there(site: Site) -> None:
    job = site.job("job", Worker=1)
    await job.submit()
    async with site.proxy() as proxy:
        lists = {kind: proxy.rule(Match("list", kind), Hold()) for kind in ("pods", "tfjobs")}
        async with site.started(site.way(proxy)) as operator:
            await until("pods are wanted", lambda: _complains(operator, "/readyz", "pods of"))
            assert await operator.get("/healthz") == (200, "ok\n")
            lists["pods"].end()
            await until("jobs are wanted", lambda: _complains(operator, "/readyz", "tfjobs of"))
            lists["tfjobs"].end()
            await operator.ready()
            await finish(job)


async def test_an_operator_that_finds_no_api_server_at_its_start_says_so_in_one_line(site: Site) -> None:
    async with site.proxy() as proxy:
        await proxy.vanish()
        async with site.started(site.way(proxy)) as operator:
            assert await operator.exit_code() == 3
        (line,) = operator.words.splitlines()
        assert "the API server cannot be reached" in line


async def test_a_signal_ends_an_operator_that_is_not_ready_yet_and_gives_the_lease_back(site: Site) -> None:
    async with site.proxy() as proxy:
        proxy.rule(Match("list", "pods"), Hold())
        way = site.way(proxy)
        async with site.started(way, *site.election) as operator:
            await until("it leads", operator.leads)
            operator.send(Signals.SIGTERM)
            assert await operator.exit_code() == 0
    lease = json.loads(site.cluster.run("get", "lease", "trainop", "-n", site.namespace, "-o", "json"))
    assert not lease["spec"].get("holderIdentity")


async def test_a_signal_ends_an_operator_that_cannot_watch_jobs(site: Site) -> None:
    async with site.operator() as replica:
        broken = replica.proxy.rule(Match("watch", "tfjobs"), Error(500))
        await once("it has been tried again", lambda: broken.struck > 2)
        replica.operator.send(Signals.SIGTERM)
        assert await replica.operator.exit_code() == 0


async def _complains(operator: Operator, path: str, *words: str) -> bool:
    code, text = await operator.get(path)
    return code == 503 and all(word in text for word in words)


def _token(site: Site, name: str) -> str:
    """Of an account of that name that may do everything in this namespace."""
    here = ("-n", site.namespace)
    site.cluster.run("create", "serviceaccount", name, *here)
    account = f"--serviceaccount={site.namespace}:{name}"
    site.cluster.run("create", "rolebinding", name, "--clusterrole=cluster-admin", account, *here)
    return site.cluster.run("create", "token", name, *here).strip()
