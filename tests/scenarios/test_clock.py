"""Limits of time: to the second on a job that nothing else wakes, and after an operator was away. DECISIONS:
deadlines, TTL."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
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


async def end_in(stage: Stage, seconds: int, field: str, since: str) -> int:
    """Set that limit of the job, so that it is reached in so many seconds however long everything took until now."""
    began = datetime.fromisoformat((await stage.job())["status"][since])
    limit = int((datetime.now(UTC) - began).total_seconds()) + seconds
    await stage.edit({"runPolicy": {field: limit}})
    return limit


async def runs(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")


async def test_a_quiet_job_fails_in_the_second_of_its_deadline(stage: Stage) -> None:
    await runs(stage)
    limit = await end_in(stage, 3, "activeDeadlineSeconds", "startTime")
    job = await stage.until_state("Failed")
    assert limit <= lasted(job) < limit + SLACK


async def test_a_deadline_that_passes_while_no_operator_is_there_is_found_by_the_next(apart: Stage) -> None:
    async with serving(apart):
        await runs(apart)
    limit = await end_in(apart, 1, "activeDeadlineSeconds", "startTime")
    await asyncio.sleep(2)
    assert (await apart.job())["status"]["conditions"][-1]["type"] == "Running"
    async with serving(apart):
        job = await apart.until_state("Failed")
        await apart.until_pods_are([])
    assert lasted(job) >= limit


async def test_a_deadline_goes_on_when_the_operator_is_restarted(apart: Stage) -> None:
    async with serving(apart):
        await runs(apart)
        limit = await end_in(apart, 4, "activeDeadlineSeconds", "startTime")
    async with serving(apart):
        job = await apart.until_state("Failed")
    assert limit <= lasted(job) < limit + SLACK


async def test_a_time_to_live_goes_on_when_the_operator_is_restarted(apart: Stage) -> None:
    async with serving(apart):
        await runs(apart)
        await apart.exit_all("Chief")
        await apart.until_state("Succeeded")
        await end_in(apart, 3, "ttlSecondsAfterFinished", "completionTime")
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
