"""The hand-over: the old operator begins all stories, stops, and trainop is started in its place."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chart import account
from tests.chart.account import Account
from tests.chart.helm import Helm
from tests.cluster import own, progress, waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from tests.cluster.shared import CRDS
from tests.scenarios.operators import NO_PORTS
from tests.scenarios.stage import Stage
from tests.takeover.old import OldOperator, fetch
from tests.takeover.story import Stories, Telling, cast
from trainop.kube.client import Client
from trainop.kube.credentials import load

TRAINOP = Path(sys.executable).with_name("trainop")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of our own: both operators serve all namespaces, and must not meet the jobs of other tests."""
    with own.control_plane() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def old(pytestconfig: pytest.Config) -> OldOperator:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a build wants to see it
        return fetch(progress.on_stderr())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tellings(
    request: pytest.FixtureRequest,
    cluster: Cluster,
    old: OldOperator,
    helm: Helm,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[dict[str, Telling]]:
    """All stories, told up to where trainop has looked at each of the jobs."""
    stories: Stories = request.module.STORIES
    async with Client(load(str(cluster.kubeconfig))) as api:
        told = list(stories.tellings(api, "default"))
        with old.running(cluster, tmp_path_factory.mktemp("old")):
            await asyncio.gather(*(telling.go_on() for telling in told))
        await asyncio.gather(*(telling.job.record() for telling in told))
        await asyncio.gather(*(telling.go_on() for telling in told if telling.gap))
        cluster.run("apply", "-f", str(CRDS))  # as users do it, over the old ones
        cluster.run("create", "namespace", "trainop-system")
        folder = tmp_path_factory.mktemp("trainop")
        with _trainop(account.install(cluster, account.objects(helm, "trainop-system"), folder), folder):
            await asyncio.gather(*(_served(api, kind) for kind in ("TFJob", "MXJob")))
            yield dict(zip(stories.ids, told, strict=True))


async def _served(api: Client, kind: str) -> None:
    """A job submitted now and brought to its end shows that trainop has been past those that were there."""
    job = Stage(api, "default", cast(kind), f"{kind.lower()}-witness")
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    await job.exit_all(job.cast.decider)
    await job.until_state("Succeeded")


@contextmanager
def _trainop(who: Account, folder: Path) -> Iterator[None]:
    """With the rights of the chart."""
    log = folder / "operator.log"
    process = Process([TRAINOP, "operator", *NO_PORTS], log=log, env={**os.environ, **who.environment})

    def serves() -> bool:
        assert process.wait(0) is None, f"trainop has ended:\n{process.last_words(30)}"
        return "serving" in log.read_text()

    try:
        try:
            waiting.until("trainop serves", serves)
        except TimeoutError as error:
            raise AssertionError(f"{error}:\n{process.last_words(30)}") from error
        yield
    finally:
        process.stop(30)
    assert "Traceback" not in log.read_text(), log.read_text()
    who.check(log)
