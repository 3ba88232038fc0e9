"""Gang scheduling from YAML to the end, with both schedulers, on both stages. kubeflow-v1 §4.6; DECISIONS `Blocked`."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chart.helm import Helm
from tests.cluster import binaries, progress
from tests.cluster.controlplane import ControlPlane
from tests.cluster.shared import CRDS, POD_GROUPS
from tests.scenarios.casting import PARTS
from tests.scenarios.operators import in_memory, serving
from tests.scenarios.stage import Cast, Stage
from trainop.engine import gang
from trainop.framework import Framework
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.kube.cluster import pod_groups
from trainop.kube.port import Raw, Resource
from trainop.model import Settings

VOLCANO = "volcano"
PLUGINS = "scheduler-plugins-scheduler"


@pytest.fixture(params=["TFJob", "MXJob"])
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[request.param], **PARTS[request.param])


@pytest.fixture(params=[VOLCANO, PLUGINS])
def settings(request: pytest.FixtureRequest, stage_name: str) -> Settings:
    if stage_name == "cluster":
        request.getfixturevalue("pod_group_kinds")
    return Settings(gang_scheduler=request.param)


class Gang:
    """The PodGroup of the stage's job, and the scheduler that looks at it."""

    def __init__(self, stage: Stage, settings: Settings) -> None:
        self.stage, self.volcano = stage, settings.gang_scheduler == VOLCANO
        self.kind = kind(settings)

    async def there(self) -> Raw:
        await self.stage.until(lambda: self._is(there=True), "a PodGroup")
        return (await self._all())[self.stage.name]

    async def gone(self) -> None:
        await self.stage.until(lambda: self._is(there=False), "no PodGroup")

    async def until_members_are(self, number: int) -> None:
        async def same() -> bool:
            return bool((await self.there())["spec"]["minMember"] == number)

        await self.stage.until(same, f"minMember {number}")

    async def admit(self, phase: str = "Inqueue") -> None:
        """What the scheduler does when it has found room."""
        await self.there()
        where = "" if self.volcano else "status"
        body = {"status": {"phase": phase}}
        await self.stage.api.patch(
            self.kind, self.stage.namespace, self.stage.name, body, dict, subresource=where
        )

    async def _is(self, *, there: bool) -> bool:
        return (self.stage.name in await self._all()) == there

    async def _all(self) -> dict[str, Raw]:
        found = await self.stage.api.list(self.kind, dict, namespace=self.stage.namespace)
        return {item["metadata"]["name"]: item for item in found.items}


def kind(settings: Settings) -> Resource:
    scheduler = gang.scheduler(settings)
    assert scheduler
    return pod_groups(scheduler)


def asking(stage: Stage, **resources: str) -> Raw:
    """A template whose container asks for that much."""
    container = {"name": stage.cast.framework.container, "image": "t", "resources": {"requests": resources}}
    return {"template": {"spec": {"containers": [container]}}}


@pytest.fixture
def group(stage: Stage, settings: Settings) -> Gang:
    return Gang(stage, settings)


async def test_a_job_goes_from_its_pod_group_to_succeeded(stage: Stage, group: Gang) -> None:
    await stage.submit(
        policy={"schedulingPolicy": {"priorityClass": "high", "scheduleTimeoutSeconds": 30}},
        **{role: asking(stage, cpu="500m", memory="1Gi") for role in stage.cast.replicas},
    )
    made = await group.there()
    job = await stage.job()
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)
    needs = {"minMember": 4, "minResources": {"cpu": "2", "memory": "4Gi"}}
    own = (
        {"queue": "default", "priorityClassName": "high"} if group.volcano else {"scheduleTimeoutSeconds": 30}
    )
    assert made["spec"] == needs | own

    await group.admit()
    await stage.run_all()
    for name, pod in (await stage.pods()).items():
        marks = {**pod["metadata"]["labels"], **pod["metadata"].get("annotations", {})}
        role = marks["training.kubeflow.org/replica-type"]
        if group.volcano:
            assert marks["scheduling.k8s.io/group-name"] == stage.name, name
            assert marks["volcano.sh/task-spec"] == role, name
        else:
            assert marks["scheduling.x-k8s.io/pod-group"] == stage.name, name
        assert pod["spec"]["schedulerName"] == (VOLCANO if group.volcano else PLUGINS), name

    await stage.until_state("Running")
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")
    await group.gone()

    # Nobody promises in which order events arrive.
    await stage.until_told("SuccessfulDeletePodGroup", f"Deleted PodGroup: {stage.name}")
    await stage.until_told("JobTerminated", "Job has been terminated. Deleting PodGroup")
    assert [reason for reason, _ in await stage.events()].count("JobTerminated") == 1


@pytest.mark.parametrize("settings", [VOLCANO], indirect=True)
async def test_pods_are_held_until_volcano_has_room(stage: Stage, group: Gang) -> None:
    await stage.submit()
    await group.admit("Pending")
    field, role = stage.cast.framework.replicas_field, stage.cast.server
    # That the PodGroup follows the job shows that the operator has looked at it while it was Pending.
    await stage.edit({field: {role: {"replicas": 3}}})
    await group.until_members_are(6)
    await stage.edit({field: {role: {"replicas": 1}}})
    await group.until_members_are(4)
    status = (await stage.job())["status"]
    assert (await stage.pods(), await stage.services()) == ({}, {})
    assert status["lastReconcileTime"]
    assert "startTime" not in status

    await group.admit()
    await stage.run_all()
    job = await stage.until_state("Running")
    assert job["status"]["startTime"]
    assert job["status"]["lastReconcileTime"] >= status["lastReconcileTime"]


async def test_the_pod_group_follows_replicas_and_min_available(stage: Stage, group: Gang) -> None:
    role, field = stage.cast.server, stage.cast.framework.replicas_field
    await stage.submit(**{role: asking(stage, cpu="2")})
    await group.admit()
    await stage.run_all()
    uid = (await group.there())["metadata"]["uid"]
    await stage.edit({field: {role: {"replicas": 2}}})
    await group.until_members_are(5)
    assert (await group.there())["spec"]["minResources"] == {"cpu": "4"}
    await stage.until_pods_are(sorted([*stage.children(), stage.child(role, 1)]))
    await stage.edit({"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}})
    await group.until_members_are(1)
    assert (await group.there())["metadata"]["uid"] == uid


async def test_suspending_takes_the_pod_group_away_and_resuming_brings_another(
    stage: Stage, group: Gang
) -> None:
    await stage.submit()
    await group.admit()
    await stage.run_all()
    await stage.until_state("Running")
    first = (await group.there())["metadata"]["uid"]
    await stage.edit({"runPolicy": {"suspend": True}})
    await stage.until_state("Suspended")
    await group.gone()
    await stage.until_pods_are([])
    await stage.edit({"runPolicy": {"suspend": False}})
    assert (await group.there())["metadata"]["uid"] != first
    await group.admit()
    await stage.run_all()
    await stage.until_state("Running")


async def test_a_pod_group_deleted_by_hand_comes_back_and_no_pod_is_touched(
    stage: Stage, group: Gang
) -> None:
    await stage.submit()
    await group.admit()
    await stage.run_all()
    await stage.until_state("Running")
    pods = {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()}
    first = (await group.there())["metadata"]["uid"]
    await stage.api.delete(group.kind, stage.namespace, stage.name, first)

    async def another() -> bool:
        return bool((await group.there())["metadata"]["uid"] != first)

    await stage.until(another, "a new PodGroup")
    assert {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()} == pods


async def test_a_pod_group_of_someone_else_is_told_and_mended_by_removing_it(
    stage: Stage, group: Gang
) -> None:
    version = f"{group.kind.group}/{group.kind.version}"
    body = {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"name": stage.name},
        "spec": {"minMember": 9},
    }
    theirs: Raw = await stage.api.create(group.kind, stage.namespace, body, dict)
    await stage.submit()
    job = await stage.until_state("Blocked")
    blocked = job["status"]["conditions"][-1]
    assert (blocked["reason"], await stage.pods()) == ("NameConflict", {})
    assert f"PodGroup {stage.name}" in blocked["message"]
    assert (await group.there())["spec"]["minMember"] == 9
    await stage.api.delete(group.kind, stage.namespace, stage.name, theirs["metadata"]["uid"])
    await group.until_members_are(4)
    await group.admit()
    await stage.run_all()
    await stage.until_state("Running")


async def test_deleting_a_job_removes_its_pod_group(stage: Stage, group: Gang) -> None:
    await stage.submit()
    await group.there()
    await stage.delete()
    await group.gone()


# --- no PodGroups here ----------------------------------------------------------------------------------------

Bare = tuple[Stage, Callable[[], None]]


@pytest.fixture
async def bare(
    stage_name: str, known: dict[str, Framework[Any]], tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Bare]:
    """A stage without PodGroups for an operator that wants some, and how to install them."""
    wanted, cast = Settings(gang_scheduler=VOLCANO), Cast(known["TFJob"], **PARTS["TFJob"])
    name = f"job-{secrets.token_hex(4)}"
    if stage_name == "memory":
        async with in_memory(known, wanted, kind(wanted)) as memory:
            yield Stage(memory, "default", cast, name), memory.absent.clear
        return
    request.getfixturevalue("control_plane")
    helm: Helm = request.getfixturevalue("helm")
    if os.environ.get("TRAINOP_TEST_KUBECONFIG"):
        pytest.skip("TRAINOP_TEST_KUBECONFIG names a cluster in which others have installed PodGroups")
    with (
        ControlPlane(binaries.find(progress.on_stderr()), crds=CRDS) as cluster,
        serving(cluster, helm, known, tmp_path, wanted) as served,
    ):
        async with Client(credentials.load(str(cluster.kubeconfig))) as api:
            yield Stage(api, served.namespace, cast, name), lambda: cluster.install_crds(POD_GROUPS)


async def test_without_the_api_a_job_is_blocked_until_it_is_installed(bare: Bare) -> None:
    stage, install = bare
    await stage.submit()
    job = await stage.until_state("Blocked")
    blocked = job["status"]["conditions"][-1]
    assert (blocked["status"], blocked["reason"]) == ("True", "PodGroupUnavailable")
    assert "install Volcano, or start the operator without --gang-scheduler-name" in blocked["message"]
    assert (await stage.pods(), await stage.services()) == ({}, {})

    await asyncio.to_thread(install)
    await Gang(stage, Settings(gang_scheduler=VOLCANO)).admit()
    await stage.run_all()
    job = await stage.until_state("Running")
    conditions = {c["type"]: c["status"] for c in job["status"]["conditions"]}
    assert conditions == {"Blocked": "False", "Created": "True", "Running": "True"}
