"""Limits of time: to the second on a job that nothing else wakes, and after an operator was away. DECISIONS:
deadlines, TTL."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from tests.crashing import Ledger, operator
from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw

SLACK = 10
"""Seconds that a busy machine may be late. A limit that no timer watches over would be hours late."""


@pytest.fixture
def cast(known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known["TFJob"], **PARTS["TFJob"] | {"replicas": {"Chief": 1, "PS": 1}})


def lasted(job: Raw) -> float:
    status = job["status"]
    began, ended = (datetime.fromisoformat(status[field]) for field in ("startTime", "completionTime"))
    return (ended - began).total_seconds()


async def gone(stage: Stage) -> None:
    async def it_is() -> bool:
        found = await stage.api.list(stage.jobs, dict, namespace=stage.namespace)
        return stage.name not in {job["metadata"]["name"] for job in found.items}

    await stage.until(it_is, "the job to be deleted")


def serving(stage: Stage) -> Any:
    framework = stage.cast.framework
    return operator(stage.operators_way, {framework.gvk: framework}, Ledger(), namespace=stage.namespace)


async def test_a_quiet_job_fails_in_the_second_of_its_deadline(stage: Stage) -> None:
    await stage.submit(policy={"activeDeadlineSeconds": 3})
    await stage.run_all()
    job = await stage.until_state("Failed")
    assert 3 <= lasted(job) < 3 + SLACK


async def test_a_deadline_that_passes_while_no_operator_is_there_is_found_by_the_next(apart: Stage) -> None:
    async with serving(apart):
        await apart.submit(policy={"activeDeadlineSeconds": 2})
        await apart.run_all()
        await apart.until_state("Running")
    await asyncio.sleep(3)
    assert (await apart.job())["status"]["conditions"][-1]["type"] == "Running"
    async with serving(apart):
        job = await apart.until_state("Failed")
        await apart.until_pods_are([])
    assert lasted(job) >= 2


async def test_a_deadline_goes_on_when_the_operator_is_restarted(apart: Stage) -> None:
    async with serving(apart):
        await apart.submit(policy={"activeDeadlineSeconds": 4})
        await apart.run_all()
        await apart.until_state("Running")
    async with serving(apart):
        job = await apart.until_state("Failed")
    assert 4 <= lasted(job) < 4 + SLACK


async def test_a_time_to_live_goes_on_when_the_operator_is_restarted(apart: Stage) -> None:
    async with serving(apart):
        await apart.submit(policy={"ttlSecondsAfterFinished": 2})
        await apart.run_all()
        await apart.exit_all("Chief")
        await apart.until_state("Succeeded")
    async with serving(apart):
        await gone(apart)
        await apart.until_pods_are([])


async def test_a_time_to_live_may_be_set_on_a_job_that_is_over(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    await stage.edit({"runPolicy": {"ttlSecondsAfterFinished": 0}})
    await gone(stage)
