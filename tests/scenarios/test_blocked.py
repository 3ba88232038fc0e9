"""What the cluster will not take: the job says so, and goes on when it is mended. DECISIONS, `Blocked`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.crashing import Ledger, operator
from tests.scenarios.casting import PARTS, known_frameworks
from tests.scenarios.quota import Quota
from tests.scenarios.stage import Cast, Stage
from tests.scenarios.test_scenarios import conditions
from trainop.framework import Framework
from trainop.kube.port import Raw, Resource

NAMESPACES = Resource("", "v1", "namespaces")
ENFORCE = "pod-security.kubernetes.io/enforce"
ON_A_CLUSTER = pytest.mark.parametrize(
    "stage_name", [pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True
)


@pytest.fixture(params=["TFJob"])
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[request.param], **PARTS[request.param])


@pytest.fixture
async def stage(apart: Stage) -> AsyncIterator[Stage]:
    """An operator in this process serves it: what is put up here concerns the whole namespace."""
    frameworks = {framework.gvk: framework for framework in known_frameworks().values()}
    frameworks = {gvk: f for gvk, f in frameworks.items() if gvk.group == "kubeflow.org"}
    async with operator(apart.operators_way, frameworks, Ledger(), namespace=apart.namespace):
        yield apart


async def blocked(stage: Stage, reason: str) -> str:
    """Why, once it is."""
    job = await stage.until_state("Blocked")
    told = job["status"]["conditions"][-1]
    assert (told["status"], told["reason"]) == ("True", reason), told
    return str(told["message"])


async def goes_on(stage: Stage) -> None:
    await stage.run_all()
    job = await stage.until_state("Running")
    assert conditions(job) == {"Blocked": "False", "Created": "True", "Running": "True"}


async def test_a_quota_that_is_used_up_is_told_and_mended_by_lifting_it(stage: Stage) -> None:
    quota = Quota(stage)
    await quota.impose()
    await stage.submit()
    message = await blocked(stage, "QuotaExceeded")
    assert f"pod {stage.child('Chief')} cannot be created" in message
    assert "exceeded quota: none" in message
    await quota.lift()
    await goes_on(stage)


async def test_the_same_trouble_is_told_in_one_event_however_often_it_is_met(stage: Stage) -> None:
    quota = Quota(stage)
    await quota.impose()
    await stage.submit()
    await blocked(stage, "QuotaExceeded")
    await stage.edit({"runPolicy": {"backoffLimit": 7}})  # another pass, which meets it again

    async def met_again() -> bool:
        status = (await stage.job())["status"]
        return bool(status["observedGeneration"] == 2)

    await stage.until(met_again, "another pass")
    await stage.until_told("QuotaExceeded", (await stage.job())["status"]["conditions"][-1]["message"])
    assert [reason for reason, _ in await stage.events()].count("QuotaExceeded") == 1


@ON_A_CLUSTER
async def test_what_pod_security_forbids_is_told_and_mended_by_allowing_it(stage: Stage) -> None:
    async def enforce(level: str | None) -> None:
        labels = {"metadata": {"labels": {ENFORCE: level}}}
        await stage.api.patch(NAMESPACES, "", stage.namespace, labels, dict)

    await enforce("restricted")
    await Quota(stage).until_kept()
    await stage.submit()
    assert "violates PodSecurity" in await blocked(stage, "Forbidden")
    await enforce(None)
    await goes_on(stage)


@ON_A_CLUSTER
async def test_a_template_that_the_api_server_refuses_is_told_and_mended_by_an_edit(stage: Stage) -> None:
    def template(**container: Any) -> Raw:
        wanted = {"name": "tensorflow", "image": "example/train", **container}
        return {"template": {"spec": {"containers": [wanted]}}}

    await stage.submit(PS=template(volumeMounts=[{"name": "no-such-volume", "mountPath": "/data"}]))
    message = await blocked(stage, "InvalidTemplate")
    assert f"pod {stage.child('PS')} cannot be created" in message
    assert "no-such-volume" in message
    await stage.edit({"tfReplicaSpecs": {"PS": template()}})
    await goes_on(stage)


@pytest.mark.parametrize("cast", ["TFJob", "MXJob"], indirect=True)
async def test_of_two_jobs_of_one_name_the_second_waits_until_the_first_is_gone(stage: Stage) -> None:
    kind = "MXJob" if stage.cast.kind == "TFJob" else "TFJob"
    second = replace(stage, cast=Cast(known_frameworks()[kind], **PARTS[kind]))
    stage, second = stage.casting(replicas={"Worker": 2}), second.casting(replicas={"Worker": 2})
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    before = {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()}
    await second.submit()
    assert f"{stage.name}-worker-0 exists and is not this job's" in await blocked(second, "NameConflict")
    assert {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()} == before
    await stage.delete()

    async def of_the_second() -> bool:
        owners = [pod["metadata"]["ownerReferences"][0]["kind"] for pod in (await second.pods()).values()]
        return owners == [kind, kind]

    await second.until(of_the_second, f"the pods of the {kind}")
    await goes_on(second)
