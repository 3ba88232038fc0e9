"""The rights of the chart are those that an operator uses, each of them and no other, as an audit log tells."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chart import account
from tests.chart.account import Account
from tests.chart.helm import Helm, Raw
from tests.chart.release import TRAINOP
from tests.chart.rights import rights
from tests.cluster import binaries, progress
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster, ControlPlane
from tests.cluster.leash import Process
from tests.cluster.shared import CRDS
from tests.scenarios.casting import PARTS
from tests.scenarios.era import KINDS, Era, submitted
from tests.scenarios.operators import NO_PORTS
from tests.scenarios.stage import Cast, Stage
from trainop.engine import gang
from trainop.errors import Gone
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.kube.cluster import pod_groups
from trainop.kube.port import PODS, SERVICES, Resource
from trainop.model import Settings
from trainop.registry import frameworks
from trainop.rights import Right, of_jobs, of_the_lease

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
PLUGIN = "OwnerReferencesPermissionEnforcement"
PLUGINS = "scheduler-plugins-scheduler"
SCHEDULER = gang.scheduler(Settings(gang_scheduler=PLUGINS))
assert SCHEDULER
GROUPS = pod_groups(SCHEDULER)
KNOWN = {gvk.kind: framework for gvk, framework in frameworks().items() if gvk.kind in PARTS}
OLDER = {f"{gvk.kind}.{gvk.group}": framework for gvk, framework in frameworks().items() if framework.older}
ALL = [*of_jobs((*KNOWN.values(), *OLDER.values()), SCHEDULER.gvk), *of_the_lease()]
# The admission plugin looks it up; nobody sends such a request, so that no audit log tells of it.
LOOKED_UP = {right for right in ALL if right.resource.endswith("/finalizers")}
# What the plugin refuses, then.
OWNED = {
    Right("", "pods", "create"),
    Right("", "services", "create"),
    Right(GROUPS.group, "podgroups", "create"),
}
FORBIDDEN = 403
FLAGS = (
    *NO_PORTS,
    f"--gang-scheduler-name={PLUGINS}",
    "--leader-elect",
    "--leader-election-lease-duration=6s",
    "--leader-election-renew-deadline=4s",
    "--leader-election-retry-period=1s",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of our own, with an audit log and the plugin that asks for a right to own children."""
    if os.environ.get("TRAINOP_TEST_KUBECONFIG"):
        pytest.skip(
            "TRAINOP_TEST_KUBECONFIG names a cluster whose audit log is not ours: RIGHTS ARE NOT COMPARED"
        )
    try:
        with ControlPlane(binaries.find(progress.on_stderr()), crds=CRDS, admission=[PLUGIN]) as own:
            own.install_crds(ROOT / "tests" / "data" / "podgroups.yaml")
            yield own
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))


@pytest.fixture
def namespace(cluster: Cluster) -> str:
    name = f"rights-{secrets.token_hex(4)}"
    cluster.run("create", "namespace", name)
    return name


@pytest.fixture
def granted(helm: Helm, namespace: str) -> list[Raw]:
    """What the chart makes for an operator of that namespace."""
    return account.objects(helm, namespace, *account.only_in(namespace, gang_scheduler=PLUGINS))


def without(right: Right, granted: list[Raw]) -> list[Raw]:
    """The same but for one right."""
    return [item | ({"rules": [*_rules(item, right)]} if "rules" in item else {}) for item in granted]


def _rules(role: Raw, taken: Right) -> Iterator[Raw]:
    """Each rule for one resource, so that a verb can be taken from one of them."""
    for rule in role["rules"]:
        for resource in rule["resources"]:
            left = [verb for verb in rule["verbs"] if (rule["apiGroups"][0], resource, verb) != taken]
            if left:
                yield rule | {"resources": [resource], "verbs": left}


@asynccontextmanager
async def operating(who: Account, folder: Path) -> AsyncIterator[None]:
    log = folder / "operator.log"
    process = Process(
        [TRAINOP, "operator", f"--namespace={who.namespace}", *FLAGS],
        log=log,
        env={**os.environ, **who.environment},
    )
    try:
        yield
        process.terminate()
        code = await asyncio.to_thread(process.wait, 60)
        assert code in (0, signal.SIGTERM), process.last_words(30)  # the latter before it serves
    finally:
        process.stop(5)
    assert "Traceback" not in log.read_text(), log.read_text()


async def a_whole_life(stage: Stage) -> None:
    """Running, made larger, restarted, succeeded, cleaned up, deleted when its time is over."""
    decider, server = stage.cast.decider, stage.cast.server
    await stage.submit(policy={"cleanPodPolicy": "All"}, **{server: {"restartPolicy": "ExitCode"}})
    await stage.run_all()
    await stage.until_state("Running")
    await stage.edit({"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}})

    async def smaller() -> bool:
        group: Raw = await stage.api.get(GROUPS, stage.namespace, stage.name, dict)
        return bool(group["spec"]["minMember"] == 1)

    await stage.until(smaller, "a PodGroup that follows")
    name = stage.child(server)
    first = (await stage.pods())[name]["metadata"]["uid"]
    await stage.kubelet.exit(name, 137)
    await stage.until_replaced(name, first)
    await stage.until_told("SuccessfulCreatePod", f"Created pod: {name}")
    await stage.kubelet.run(name)
    await stage.until_state("Running")
    await stage.exit_all(decider)
    await until_no_children(stage)  # a job that went first would take them with it
    await stage.edit({"runPolicy": {"ttlSecondsAfterFinished": 0}})
    await until_gone(stage)


async def an_older_life(stage: Stage) -> None:
    """Named by the operator, running, restarted, succeeded, deleted when its time is over."""
    players = await submitted(stage, policy={"ttlSecondsAfterFinished": 1})
    await players.run()
    await stage.until_state("Running")
    name = players.name(stage.cast.decider)
    first = (await stage.pods())[name]["metadata"]["uid"]
    await stage.kubelet.exit(name, 137)
    await stage.until_replaced(name, first)
    await stage.kubelet.run(name)
    await stage.until_state("Running")
    await stage.kubelet.exit(name, 0)
    await until_gone(stage)


async def until_gone(stage: Stage) -> None:
    async def gone() -> bool:
        try:
            await stage.job()
        except Gone:
            return True
        return False

    await stage.until(gone, "the end of the job's time to live")
    await until_no_children(stage)


async def until_no_children(stage: Stage) -> None:
    for kind in (PODS, SERVICES, GROUPS):
        await stage.until(lambda kind=kind: _none(stage, kind), f"no {kind.plural}")  # type: ignore[misc]


async def _none(stage: Stage, kind: Resource) -> bool:
    found = await stage.api.list(kind, dict, namespace=stage.namespace)
    return not [item for item in found.items if item["metadata"]["name"].startswith(stage.name)]


async def a_name_that_is_taken(stage: Stage, kind: Resource, body: Raw) -> None:
    """By an object of someone else, which must be looked at to be told from a child."""
    await stage.api.create(kind, stage.namespace, body, dict)
    await stage.submit()
    job = await stage.until_state("Blocked")
    assert job["status"]["conditions"][-1]["reason"] == "NameConflict"


def stories(api: Client, namespace: str) -> list[Coroutine[Any, Any, None]]:
    """All of them at once take every right."""
    lives = [
        Stage(api, namespace, Cast(KNOWN[kind], **PARTS[kind]), f"life-{kind.lower()}") for kind in KNOWN
    ]
    older = [
        Stage(api, namespace, Era(OLDER[kind], **KINDS[kind]), f"life-{kind.lower().replace('.', '-')}")
        for kind in OLDER
    ]
    first = lives[0]
    pod, service, group = (replace(first, name=f"taken-{kind.plural}") for kind in (PODS, SERVICES, GROUPS))
    container = {"name": "theirs", "image": "theirs"}
    return [
        *(a_whole_life(stage) for stage in lives),
        *(an_older_life(stage) for stage in older),
        a_name_that_is_taken(
            pod, PODS, {"metadata": {"name": pod.children()[0]}, "spec": {"containers": [container]}}
        ),
        a_name_that_is_taken(
            service,
            SERVICES,
            {"metadata": {"name": service.children()[0]}, "spec": {"ports": [{"port": 80}]}},
        ),
        a_name_that_is_taken(
            group,
            GROUPS,
            {
                "apiVersion": f"{GROUPS.group}/{GROUPS.version}",
                "kind": "PodGroup",
                "metadata": {"name": group.name},
                "spec": {"minMember": 1},
            },
        ),
    ]


def missing(who: Account) -> set[Right]:
    """What was answered with 403: here only rights are a reason for that."""
    return {Right(*request.right) for request in who.requests() if request.code == FORBIDDEN}


async def play(who: Account, folder: Path) -> set[Right]:
    """The rights that were missing, as soon as that is known; none: every story went as it should."""

    async def something_is_missing() -> None:
        while not missing(who):  # noqa: ASYNC110 - another process writes what is read here
            await asyncio.sleep(0.1)

    async with Client(credentials.load(str(who.cluster.kubeconfig))) as api, operating(who, folder):
        told = asyncio.create_task(_all(stories(api, who.namespace)))
        watched = asyncio.create_task(something_is_missing())
        await asyncio.wait([told, watched], return_when=asyncio.FIRST_COMPLETED)
        for task in (told, watched):
            task.cancel()
        end, _ = await asyncio.gather(told, watched, return_exceptions=True)
    found = missing(who)
    if isinstance(end, BaseException) and not found:
        raise end
    return found


async def _all(told: Iterable[Coroutine[Any, Any, None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for story in told:
            group.create_task(story)


async def test_an_operator_uses_every_right_of_the_chart_and_asks_for_no_other(
    cluster: Cluster, granted: list[Raw], tmp_path: Path
) -> None:
    assert rights(item for item in granted if "rules" in item) == set(ALL)
    who = account.install(cluster, granted, tmp_path)
    assert await play(who, tmp_path) == set()
    who.check(tmp_path / "operator.log")
    assert {request.right for request in who.requests()} == set(ALL) - LOOKED_UP


@pytest.mark.parametrize("right", ALL, ids=str)
async def test_without_any_one_of_them_it_does_not_go_well(
    cluster: Cluster, granted: list[Raw], tmp_path: Path, right: Right
) -> None:
    who = account.install(cluster, without(right, granted), tmp_path)
    refused = await play(who, tmp_path)
    assert refused
    assert refused <= (OWNED if right in LOOKED_UP else {right})
    if (
        right not in LOOKED_UP
    ):  # what every other test with an operator looks at in the end would have failed, too
        with pytest.raises(AssertionError, match="was refused"):
            who.check(tmp_path / "operator.log")
