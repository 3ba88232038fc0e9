"""kopf beside us in one process: it ends when we say so, all of it, and nothing else does."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import kopf

from trainop.operator.jobwatch import _swept


async def test_when_kopf_has_ended_nothing_of_its_own_goes_on_and_all_of_ours_does() -> None:
    ours = asyncio.create_task(asyncio.sleep(60))
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True
    tasks = await kopf.spawn_tasks(registry=kopf.OperatorRegistry(), settings=settings, clusterwide=True)
    await _swept()
    assert all(task.done() for task in tasks)
    assert not ours.done()
    ours.cancel()


async def test_a_task_of_kopfs_that_takes_no_notice_is_told_again() -> None:
    async def deaf() -> None:
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    work, others = [asyncio.create_task(deaf())], asyncio.all_tasks()
    stubborn = asyncio.create_task(kopf.run_tasks(work, ignored=others))
    await asyncio.sleep(0)
    await _swept()
    assert stubborn.done()
