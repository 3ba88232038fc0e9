"""Kill the operator before or after any single write: the end is that of the undisturbed run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.crashing import Crash, Ledger, operator
from tests.scenarios import test_gang as gangs
from tests.scenarios import test_scenarios as stories
from tests.scenarios.casting import PARTS, known_frameworks
from tests.scenarios.stage import Cast, Stage
from trainop.errors import Gone
from trainop.kube.memory import Memory
from trainop.kube.port import Raw
from trainop.model import DEFAULTS, Settings

Story = Callable[[Stage], Awaitable[None]]

PLAINEST: list[Story] = [
    stories.test_a_job_goes_from_yaml_to_succeeded,
    stories.test_what_still_runs_is_removed_with_its_service_and_what_has_ended_is_kept,
    stories.test_clean_pod_policy_none_keeps_all_and_all_keeps_nothing,
    stories.test_a_permanent_exit_code_fails_the_job,
    stories.test_a_retryable_exit_code_brings_a_new_pod_of_the_same_name,
    stories.test_the_job_fails_when_its_restarts_reach_the_backoff_limit,
    stories.test_an_evicted_pod_is_replaced_and_not_counted,
    stories.test_a_member_that_succeeded_is_not_run_again_when_its_pod_is_deleted,
    stories.test_a_suspended_job_has_no_pods_and_a_resumed_one_starts_anew,
    stories.test_a_job_past_its_active_deadline_fails_without_any_event_to_wake_it,
    stories.test_a_finished_job_is_deleted_when_its_time_to_live_is_over,
    stories.test_deleting_a_job_removes_its_pods_and_services,
    stories.test_scaling_down_removes_surplus_members_and_scaling_up_adds_them,
]
VOLCANO = Settings(gang_scheduler="volcano")
AT_ONCE = 16


async def a_gang_is_suspended_and_resumed(stage: Stage) -> None:
    await gangs.test_suspending_takes_the_pod_group_away_and_resuming_brings_another(
        stage, gangs.Gang(stage, VOLCANO)
    )


async def a_gang_is_scaled(stage: Stage) -> None:
    await gangs.test_the_pod_group_follows_replicas_and_min_available(stage, gangs.Gang(stage, VOLCANO))


GANGS: list[Story] = [a_gang_is_suspended_and_resumed, a_gang_is_scaled]


async def played(story: Story, cast: Cast, *crashes: Crash) -> tuple[Raw, Ledger]:
    """The end of the story, and all that was written on the way."""
    memory, ledger = Memory(), Ledger()
    known = {framework.gvk: framework for framework in known_frameworks().values()}
    settings = VOLCANO if story in GANGS else DEFAULTS
    async with operator(memory, known, ledger, *crashes, settings=settings) as idle:
        stage = Stage(memory, "default", cast, "story")
        await story(stage)
        await quiet(stage, ledger, idle)
        return await end(stage), ledger


async def quiet(stage: Stage, ledger: Ledger, idle: Callable[[], bool]) -> None:
    """The operator has nothing to do and writes nothing, for a good number of turns of the loop."""
    calm, written = 0, -1
    while calm < 50:
        calm = calm + 1 if idle() and ledger.total == written else 0
        written = ledger.total
        await asyncio.sleep(0)


async def end(stage: Stage) -> Raw:
    """What is left, without what differs from run to run: UIDs, versions and times."""
    try:
        status = (await stage.job()).get("status", {})
    except Gone:
        status = {}
    # A job may be done before anyone has seen it run: Running and Restarting come and go in between.
    lasting = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status.get("conditions", [])}
    for passing in ("Running", "Restarting"):
        lasting.pop(passing, None)
    return {
        "conditions": lasting,
        "roles": status.get("replicaStatuses"),
        "restarts": status.get("restartCount", 0),
        "pods": {name: pod["status"]["phase"] for name, pod in (await stage.pods()).items()},
        "services": sorted(await stage.services()),
        "groups": [group["spec"] for group in (await stage.api.list(gangs.kind(VOLCANO), dict)).items],
    }


def children(ledger: Ledger) -> Counter[str]:
    """How often each pod, service and PodGroup was created and deleted."""
    kinds = (" pods/", " services/", " podgroups/")
    return Counter({what: count for what, count in ledger.writes.items() if any(k in what for k in kinds)})


# The engine is the same for all kinds: one plays every story, the others one with a restart.
PLAYED = [("TFJob", story) for story in PLAINEST + GANGS] + [
    (kind, PLAINEST[4]) for kind in PARTS if kind != "TFJob"
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "story"), PLAYED, ids=lambda value: getattr(value, "__name__", value))
async def test_a_crash_at_any_write_changes_nothing(kind: str, story: Story) -> None:
    cast = Cast(known_frameworks()[kind], **PARTS[kind])
    reference, undisturbed = await played(story, cast)
    places = asyncio.Semaphore(AT_ONCE)

    async def disturbed(*crashes: Crash) -> None:
        async with places:
            outcome, ledger = await played(story, cast, *crashes)
        where = ", ".join(map(str, crashes))
        # Where the clock has a say, a slow run may need fewer writes and end before its turn to die comes.
        assert ledger.deaths or all(ledger.total <= crash.write for crash in crashes), (
            f"{where}: it did not die"
        )
        assert outcome == reference, f"{where}: another end"
        more = children(ledger) - children(undisturbed)
        assert not more, f"{where}: made or deleted more often"

    crashes: list[Any] = [
        disturbed(Crash(number, when)) for number in range(undisturbed.total) for when in ("before", "after")
    ]
    await asyncio.gather(*crashes)
