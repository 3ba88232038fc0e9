"""Pods that claim to belong to a job, and members whose labels are changed: nothing comes of it. SECURITY, hazards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.scenarios.stage import Stage
from trainop.engine import labels
from trainop.kube.port import PODS, Raw

pytestmark = [
    pytest.mark.parametrize("cast", ["TFJob", "MXJob"], indirect=True),
    pytest.mark.parametrize(
        "stage_name", ["memory", pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True
    ),
]
ODD = ("500", "1000000000", "1e3", "x")
"""No API server takes a label such as -1."""


async def claim(stage: Stage, name: str, index: str, **metadata: Any) -> Raw:
    """A pod with the labels of a member of the job, and more that is copied from one."""
    member = (await stage.pods())[stage.child(stage.cast.decider)]
    said = {**member["metadata"]["labels"], labels.REPLICA_INDEX: index}
    body = {
        "metadata": {"name": name, "labels": said, **metadata},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    return await stage.api.create(PODS, stage.namespace, {"apiVersion": "v1", "kind": "Pod", **body}, dict)


async def looked_at(stage: Stage) -> None:
    """The operator has made a pass after all that happened before."""
    await stage.edit({"runPolicy": {"backoffLimit": 7}})

    async def seen() -> bool:
        job = await stage.job()
        return bool(job["status"].get("observedGeneration") == job["metadata"]["generation"])

    await stage.until(seen, "another pass")


async def running(stage: Stage) -> Raw:
    await stage.submit(policy={"cleanPodPolicy": "All"})
    await stage.run_all()
    return await stage.until_state("Running")


async def test_who_copies_an_owner_reference_gets_no_company_and_is_left_alone(stage: Stage) -> None:
    """The v1 operator makes a pod for every index below."""
    await running(stage)
    owners = (await stage.pods())[stage.child(stage.cast.decider)]["metadata"]["ownerReferences"]
    forged = [
        await claim(stage, f"{stage.name}-forged-{n}", odd, ownerReferences=owners)
        for n, odd in enumerate(ODD)
    ]
    orphan = await claim(stage, f"{stage.name}-orphan", "1")
    strangers = {it["metadata"]["name"]: it["metadata"]["uid"] for it in (*forged, orphan)}
    await looked_at(stage)
    assert sorted(await stage.pods()) == sorted([*stage.children(), *strangers])
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")
    await stage.until_pods_are([*strangers])
    assert {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()} == strangers
    assert not [pod for pod in (await stage.pods()).values() if "deletionTimestamp" in pod["metadata"]]
    assert (await stage.pods())[f"{stage.name}-orphan"]["metadata"].get("ownerReferences") is None, (
        "not adopted"
    )


@pytest.mark.parametrize("odd", ODD)
async def test_a_member_is_known_by_its_name_whatever_its_index_label_says(stage: Stage, odd: str) -> None:
    """The v1 operator makes it again and again, and never sees how the job ends."""
    job = replace(stage, name=f"{stage.name}-{ODD.index(odd)}")
    await running(job)
    before = {name: pod["metadata"]["uid"] for name, pod in (await job.pods()).items()}
    changed = {"metadata": {"labels": {labels.REPLICA_INDEX: odd, labels.REPLICA_TYPE: "cook"}}}
    await job.api.patch(PODS, job.namespace, job.child(job.cast.decider), changed, dict)
    await looked_at(job)
    assert {name: pod["metadata"]["uid"] for name, pod in (await job.pods()).items()} == before
    await job.exit_all(job.cast.decider)
    await job.until_state("Succeeded")
