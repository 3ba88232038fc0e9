"""How the list of conditions changes: what replaces what, in which order, and what never changes again."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from trainop.api.status import Condition, ConditionType, JobStatus

EXCLUDES = {
    ConditionType.RUNNING: ConditionType.RESTARTING,
    ConditionType.RESTARTING: ConditionType.RUNNING,
}
TERMINAL = (ConditionType.SUCCEEDED, ConditionType.FAILED)


def put(
    status: JobStatus, type_: ConditionType, reason: str, message: str, now: datetime, *, true: bool = True
) -> JobStatus:
    """The status with that condition. The newest stands last, so the last one is the job's state.

    A finished job takes no new condition; the same status and reason again change nothing.
    """
    if status.finished:
        return status
    value: Literal["True", "False"] = "True" if true else "False"
    old = status.condition(type_)
    if old and old.status == value and old.reason == reason:
        return status
    moved = old.last_transition_time if old and old.status == value else now
    new = Condition(
        type=type_,
        status=value,
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=moved,
    )
    rest = [c for c in status.conditions if c.type not in (type_, EXCLUDES.get(type_))]
    if type_ in TERMINAL:
        rest = [_ended(c) for c in rest]
    # Being unblocked is not a state of its own: it must not hide the state it returns to.
    order = [new, *rest] if type_ == ConditionType.BLOCKED and not true else [*rest, new]
    return replace(status, conditions=tuple(order))


def _ended(condition: Condition) -> Condition:
    """Running and Blocked become False with the job's end; reason, message and times stay as they were."""
    over = condition.type in (ConditionType.RUNNING, ConditionType.BLOCKED) and condition.true
    return replace(condition, status="False") if over else condition
