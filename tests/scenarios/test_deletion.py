"""A job may be deleted in every state, and takes its children along. ARCHITECTURE: leaves no trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import PODS, SERVICES

RETRIED = {"restartPolicy": "ExitCode"}


@pytest.fixture
def cast(known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known["TFJob"], **PARTS["TFJob"] | {"replicas": {"Chief": 1, "PS": 1}})


async def created(stage: Stage) -> None:
    await stage.submit()
    await stage.until_pods_are(stage.children())


async def running(stage: Stage, **roles: Any) -> None:
    await stage.submit(**roles)
    await stage.run_all()
    await stage.until_state("Running")


async def restarting(stage: Stage) -> None:
    await running(stage, Chief=RETRIED)
    await stage.kubelet.exit(stage.child("Chief"), 137)
    await stage.until_state("Restarting")


async def suspended(stage: Stage) -> None:
    await running(stage)
    await stage.edit({"runPolicy": {"suspend": True}})
    await stage.until_state("Suspended")


async def succeeded(stage: Stage) -> None:
    await running(stage)
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")


async def failed(stage: Stage) -> None:
    await running(stage)
    await stage.exit_all("PS", 1)
    await stage.until_state("Failed")


async def blocked(stage: Stage) -> None:
    foreign = {"metadata": {"name": stage.child("PS"), "labels": {}}, "spec": {"ports": [{"port": 80}]}}
    await stage.api.create(SERVICES, stage.namespace, foreign, dict)
    await stage.submit()
    await stage.until_state("Blocked")


STATES = (created, running, restarting, suspended, succeeded, failed, blocked)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_a_job_takes_its_children_along_in_every_state(
    stage: Stage, state: Callable[[Stage], Awaitable[None]]
) -> None:
    await state(stage)
    await stage.delete()
    await stage.until_pods_are([])
    await stage.until_services_are([])


async def test_a_job_of_the_same_name_begins_anew(stage: Stage) -> None:
    await succeeded(stage)
    before = (await stage.pods())[stage.child("Chief")]["metadata"]["uid"]
    await stage.delete()
    await stage.submit()
    await stage.until_replaced(stage.child("Chief"), before)
    await stage.run_all()
    job = await stage.until_state("Running")
    assert "completionTime" not in job["status"]
    assert (await stage.api.get(PODS, stage.namespace, stage.child("PS"), dict))["status"][
        "phase"
    ] == "Running"
