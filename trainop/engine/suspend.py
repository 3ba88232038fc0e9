"""Suspending takes all pods away; resuming starts the job anew."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from trainop.api.status import ConditionType, JobStatus
from trainop.engine import cleanup, conditions, gang, labels
from trainop.engine.roster import Roster
from trainop.framework import Framework
from trainop.model import Action, Job, SeenPodGroup


def suspended(framework: Framework[Any], job: Job[Any], status: JobStatus, now: datetime) -> JobStatus:
    """The status while suspended: nothing is active. What had succeeded or failed stays on record."""
    reason, message = labels.reason(framework, "Suspended"), labels.say(labels.IS_SUSPENDED, framework, job)
    if status.is_true(ConditionType.RUNNING):
        status = conditions.put(status, ConditionType.RUNNING, reason, message, now, true=False)
    return conditions.put(status, ConditionType.SUSPENDED, reason, message, now)


def take_away(roster: Roster, group: SeenPodGroup | None = None) -> Iterator[Action]:
    for place in (*roster, *roster.companions):
        yield from cleanup.delete(place)
    yield from gang.take_away(group)


def resumed(framework: Framework[Any], job: Job[Any], status: JobStatus, now: datetime) -> JobStatus:
    """The status of a job that begins anew: now, with no restarts and no member that has succeeded."""
    message = labels.say(labels.IS_RESUMED, framework, job)
    status = conditions.put(
        status, ConditionType.SUSPENDED, labels.reason(framework, "Resumed"), message, now, true=False
    )
    return replace(status, start_time=now, restart_count=0, restarts_counted={}, replica_statuses={})
