"""What keeps the operator from making progress, said in the job's own conditions until it is over."""

from __future__ import annotations

from datetime import datetime

from trainop.api.status import ConditionType, JobStatus
from trainop.engine import conditions, labels
from trainop.model import Event, Trouble


def told(status: JobStatus, trouble: Trouble | None, now: datetime) -> JobStatus:
    """Blocked is True while there is trouble, False afterwards, and absent if there never was any."""
    if trouble:
        return conditions.put(status, ConditionType.BLOCKED, trouble.reason, trouble.message, now)
    if status.is_true(ConditionType.BLOCKED):
        return conditions.put(
            status, ConditionType.BLOCKED, "Progressing", labels.NOT_BLOCKED, now, true=False
        )
    return status


def warning(before: JobStatus, after: JobStatus) -> tuple[Event, ...]:
    """One Warning when the job becomes blocked, or blocked for another reason."""
    was, now = before.condition(ConditionType.BLOCKED), after.condition(ConditionType.BLOCKED)
    if now and now.true and not (was and was.true and was.reason == now.reason):
        return (Event("Warning", now.reason, now.message),)
    return ()
