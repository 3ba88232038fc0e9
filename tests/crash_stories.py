"""The stories in which the operator is killed at every write, and how the ends of two tellings are compared."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal

from tests.crashing import Crash, Ledger, Operator, operator, version
from tests.scenarios import era
from tests.scenarios import test_blocked as blocked
from tests.scenarios import test_gang as gangs
from tests.scenarios import test_legacy as legacy
from tests.scenarios import test_scenarios as stories
from tests.scenarios.casting import PARTS, known_frameworks
from tests.scenarios.stage import PATIENCE, Cast, Stage
from trainop.engine import labels
from trainop.errors import Gone
from trainop.kube.port import PODS, SERVICES, Raw, Resource
from trainop.model import DEFAULTS, Settings

Story = Callable[[Stage], Awaitable[None]]
Stages = Callable[[], AbstractAsyncContextManager[Stage]]
"""Gives a stage for one telling."""

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
    stories.test_a_name_taken_by_something_else_is_told_and_mended_by_removing_it,
    blocked.test_a_quota_that_is_used_up_is_told_and_mended_by_lifting_it,
]
OLDER: list[Story] = [
    legacy.test_a_job_of_2017_goes_from_yaml_to_done,
    legacy.test_an_exit_code_of_128_or_more_brings_a_new_pod,
]
VOLCANO = Settings(gang_scheduler="volcano")
MARKER = "marker"
WHEN: tuple[Literal["before", "after"], ...] = ("before", "after")


async def a_gang_is_suspended_and_resumed(stage: Stage) -> None:
    await gangs.test_suspending_takes_the_pod_group_away_and_resuming_brings_another(
        stage, gangs.Gang(stage, VOLCANO)
    )


async def a_gang_is_scaled(stage: Stage) -> None:
    await gangs.test_the_pod_group_follows_replicas_and_min_available(stage, gangs.Gang(stage, VOLCANO))


GANGS: list[Story] = [a_gang_is_suspended_and_resumed, a_gang_is_scaled]


def a_cast(kind: str, **changes: Any) -> Cast:
    if kind in era.KINDS:
        return era.Era(known_frameworks()[kind], **era.KINDS[kind] | changes)
    return Cast(known_frameworks()[kind], **PARTS[kind] | changes)


@dataclass(frozen=True)
class Telling:
    """What came of a story that was told with crashes, or without."""

    end: Raw
    children: Mapping[str, int]
    """How often each pod, service and PodGroup was created and deleted."""
    tries: int
    deaths: int


async def crash_at_every_write(story: Story, stages: Stages, at_once: int = 16) -> None:
    """Fails when any single crash leads to another end than none, or makes a child be made twice."""
    async with stages() as stage:
        undisturbed = await told(story, stage)
    places = asyncio.Semaphore(at_once)

    async def complaint(crash: Crash) -> str:
        async with places, stages() as stage:
            try:
                telling = await told(story, stage, crash)
            except AssertionError as error:
                return f"{crash}: {error}"
        return _difference(undisturbed, telling, crash)

    crashes = [Crash(n, when) for n in range(undisturbed.tries) for when in WHEN]
    complaints = await asyncio.gather(*map(complaint, crashes))
    assert not any(complaints), "\n".join(filter(None, complaints))


def _difference(undisturbed: Telling, telling: Telling, crash: Crash) -> str:
    # Where the clock has a say, a slow run may need fewer writes and end before its turn to die comes.
    if not telling.deaths and telling.tries > crash.write:
        return f"{crash}: it did not die"
    if telling.end != undisturbed.end:
        return f"{crash}: another end: {telling.end}\ninstead of {undisturbed.end}"
    more = Counter(telling.children) - Counter(undisturbed.children)
    return f"{crash}: made or deleted more often: {dict(more)}" if more else ""


async def told(story: Story, stage: Stage, *crashes: Crash) -> Telling:
    ledger, framework, gang = Ledger(), stage.cast.framework, story in GANGS
    kinds = [PODS, SERVICES, stage.jobs, *([gangs.kind(VOLCANO)] if gang else [])]
    async with operator(
        stage.operators_way,
        {framework.gvk: framework},
        ledger,
        *crashes,
        namespace=stage.namespace,
        settings=VOLCANO if gang else DEFAULTS,
    ) as running:
        await story(stage)
        await quiet(stage, kinds, ledger, running)
        children = {what: n for what, n in ledger.done.items() if f" {framework.plural}/" not in what}
        last = await end(stage, kinds)
        number = await _number(stage)
    return Telling(
        _nameless(stage, number, last), _nameless(stage, number, children), ledger.tries, ledger.deaths
    )


async def quiet(stage: Stage, kinds: list[Resource], ledger: Ledger, running: Operator) -> None:
    """The operator has nothing left to do.

    A marker is put behind all that has happened so far to each kind that the operator watches. When it has heard
    of the markers it has heard of everything; when it then rests, and has tried no write since, it is done.
    """
    deadline, tries = time.monotonic() + PATIENCE, -1
    while tries != ledger.tries:
        tries = ledger.tries
        markers = {what: await _mark(stage, what) for what in kinds}
        while not running.at_rest(markers):
            if time.monotonic() > deadline:
                raise AssertionError(f"the operator of {stage.name} does not come to rest")
            await asyncio.sleep(0.005)


async def _mark(stage: Stage, what: Resource) -> int:
    """Change something that concerns no job of the operator's, though it is told of it. The version of that."""
    ours = {labels.OPERATOR_NAME: stage.cast.framework.controller}
    metadata = {"name": MARKER, "labels": ours, "annotations": {"changed": secrets.token_hex(4)}}
    try:
        changed = await stage.api.patch(what, stage.namespace, MARKER, {"metadata": metadata}, dict)
    except Gone:
        body = _marker(stage, what) | {"metadata": metadata}
        changed = await stage.api.create(what, stage.namespace, body, dict)
    return version(changed)


def _marker(stage: Stage, what: Resource) -> Raw:
    if what == PODS:
        return {"spec": {"containers": [{"name": "none", "image": "none"}]}}
    if what == SERVICES:
        return {"spec": {"clusterIP": "None", "ports": [{"port": 1}]}}
    if what == stage.jobs:
        return stage.cast.job(MARKER, policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    return {"spec": {"minMember": 1}}


async def end(stage: Stage, kinds: list[Resource]) -> Raw:
    """What is left, without what differs from run to run: UIDs, versions and times."""
    try:
        status = (await stage.job()).get("status", {})
    except Gone:
        status = {}
    # A job may be done before anyone has seen it run: Running and Restarting come and go in between.
    lasting = {c["type"]: [c["status"], c["reason"], c["message"]] for c in status.get("conditions", [])}
    for passing in ("Running", "Restarting"):
        lasting.pop(passing, None)
    groups = {}
    for kind in kinds[3:]:
        found = (await stage.api.list(kind, dict, namespace=stage.namespace)).items
        groups = {item["metadata"]["name"]: item["spec"] for item in found}
    return {
        "conditions": lasting,
        "roles": status.get("replicaStatuses"),
        "restarts": status.get("restartCount", 0),
        "pods": {name: pod["status"]["phase"] for name, pod in (await stage.pods()).items()},
        "services": sorted(await stage.services()),
        "groups": groups,
    }


async def _number(stage: Stage) -> str:
    """What stands in the names of the children of some kinds, and is another one for each job."""
    try:
        return str((await stage.job())["spec"].get("RuntimeId", "-"))
    except Gone:
        return "-"


def _nameless(stage: Stage, number: str, value: Any) -> Any:
    """With the same names for whichever job it was told of."""
    text = json.dumps(value).replace(stage.name, "JOB").replace(stage.namespace, "NAMESPACE")
    return json.loads(text.replace(f"-{number}-", "-NUMBER-"))
