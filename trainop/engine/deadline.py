"""When the clock alone ends a job or takes it away."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from trainop.api.status import ConditionType, JobStatus
from trainop.model import Job


def active_left(job: Job[Any], status: JobStatus, now: datetime) -> float | None:
    """Seconds until the active deadline; 0 when it has passed; None when there is none."""
    limit = job.policy.active_deadline_seconds
    if limit is None or status.start_time is None:
        return None
    return max(0.0, limit - (now - status.start_time).total_seconds())


def ttl_left(job: Job[Any], now: datetime) -> float | None:
    """Seconds until a finished job is to be deleted; 0 when it is time; None when it stays."""
    ttl, ended = job.policy.ttl_seconds_after_finished, ended_at(job.status)
    if ttl is None or ended is None:
        return None
    return max(0.0, ttl - (now - ended).total_seconds())


def ended_at(status: JobStatus) -> datetime | None:
    """The completion time, or, where an older operator forgot it, when the terminal condition came."""
    if status.completion_time:
        return status.completion_time
    for type_ in (ConditionType.SUCCEEDED, ConditionType.FAILED):
        condition = status.condition(type_)
        if condition and condition.true:
            return condition.last_transition_time
    return None
