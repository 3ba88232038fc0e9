"""A TensorBoard beside a TFJob, from its submission to its deletion. DECISIONS: extensions, TensorBoard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework

VOLUMES = {
    "volumes": [{"name": "logs", "emptyDir": {}}],
    "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
}
WANTED = {"tensorboard": {"logDir": "/logs", "serviceType": "LoadBalancer", **VOLUMES}}


@pytest.fixture
def cast(known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known["TFJob"], **PARTS["TFJob"] | {"replicas": {"Chief": 1, "PS": 1}, "fields": WANTED})


def board(stage: Stage) -> str:
    return f"{stage.name}-tensorboard"


async def test_a_tensorboard_comes_with_the_job_and_stays_until_it_is_deleted(stage: Stage) -> None:
    await stage.submit(policy={"cleanPodPolicy": "All"})
    await stage.run_all()
    await stage.until_pods_are([*stage.children(), board(stage)])
    await stage.until_services_are([*stage.children(), board(stage)])
    pod, service = (await stage.pods())[board(stage)], (await stage.services())[board(stage)]
    (container,) = pod["spec"]["containers"]
    assert (container["image"], container["command"][:3]) == (
        "example/train",
        ["tensorboard", "--logdir", "/logs"],
    )
    assert [mount["name"] for mount in container["volumeMounts"]][:1] == ["logs"]
    assert service["spec"]["type"] == "LoadBalancer"
    assert [(p["port"], p["targetPort"]) for p in service["spec"]["ports"]] == [(80, 6006)]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    await stage.kubelet.run(board(stage))
    job = await stage.until_state("Running")
    assert set(job["status"]["replicaStatuses"]) == {"Chief", "PS"}
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    await stage.until_pods_are([board(stage)])
    await stage.until_services_are([board(stage)])
    await stage.delete()
    await stage.until_pods_are([])


async def test_a_tensorboard_that_ends_is_replaced_also_after_the_job(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    before = (await stage.pods())[board(stage)]["metadata"]["uid"]
    await stage.kubelet.evict(board(stage))
    await stage.until_replaced(board(stage), before)


async def test_a_suspended_job_has_no_tensorboard(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    await stage.edit({"runPolicy": {"suspend": True}})
    await stage.until_pods_are([])
    await stage.edit({"runPolicy": {"suspend": False}})
    await stage.until_pods_are([*stage.children(), board(stage)])
