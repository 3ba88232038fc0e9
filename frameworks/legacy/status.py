"""The status of 2017 around that of v1: phase, state and reason, and the counters of each type of replica as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainop.api.spec import CleanPodPolicy
from trainop.api.status import ConditionType, JobStatus, ReplicaStatus
from trainop.model import Job

_NEVER_STARTED = "FailedValidation"
_COUNTERS = ReplicaStatus.__struct_encode_fields__
_OF_THE_ERA = ("phase", "state", "reason", "controlPaused", "replicaStatuses")


def tell(
    type_field: str,
    job: Job[Any],
    status: JobStatus,
    more: Callable[[Job[Any], str], dict[str, object]] = lambda job, role: {},
) -> dict[str, object]:
    """That of v1, with the counters as a list and with phase, state and reason; `more` is said of a role, too."""
    if status == JobStatus():
        return {}
    phase, state, reason = _summary(job, status)
    written = list(job.spec.__dict__.get("replica_specs", ()))
    roles = sorted(status.replica_statuses, key=lambda role: _position(written, role))
    counters = [{type_field: role.upper()} | more(job, role) | _counters(job, status, role) for role in roles]
    era = {"phase": phase, "state": state, "reason": reason, "controlPaused": False}
    return {**status.wire(), **era, "replicaStatuses": counters}


def _position(written: list[str], role: str) -> int:
    return written.index(role) if role in written else len(written)


def _counters(job: Job[Any], status: JobStatus, role: str) -> dict[str, object]:
    """Whatever has not ended is Running, be it there already or not."""
    seen = status.replica_statuses[role]
    total = (
        job.replicas[role].replicas if role in job.replicas else seen.active + seen.succeeded + seen.failed
    )
    running = total - seen.succeeded - seen.failed
    states = {"Failed": seen.failed, "Running": running, "Succeeded": seen.succeeded}
    some = {state: count for state, count in states.items() if count > 0}
    return {"state": next(iter(some), "Unknown"), "ReplicasStates": some, **seen.wire()}


def _summary(job: Job[Any], status: JobStatus) -> tuple[str, str, str]:
    """Phase, state and reason. `Done` is the end of a job that has run, whatever came of it."""
    done = "CleanUp" if _cleaning(job, status) else "Done"
    failed, blocked = status.condition(ConditionType.FAILED), status.condition(ConditionType.BLOCKED)
    if status.is_true(ConditionType.SUCCEEDED):
        return done, "Succeeded", ""
    if failed and failed.true:
        refused = failed.reason.endswith(_NEVER_STARTED)
        return ("Failed", "Failed", failed.message) if refused else (done, "Failed", "")
    reason = blocked.message if blocked and blocked.true else ""
    running = status.is_true(ConditionType.RUNNING) or status.is_true(ConditionType.RESTARTING)
    return "Running" if running else "Creating", "Running", reason


def _cleaning(job: Job[Any], status: JobStatus) -> bool:
    """Somebody still runs who is not to stay."""
    running = any(seen.active for seen in status.replica_statuses.values())
    return running and job.policy.clean_pod_policy is not CleanPodPolicy.NONE


def recall(kind: str, type_field: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """What was told, in the shape of v1. An operator of 2017 told no conditions: its `Done` is an end, too."""
    kept = {key: value for key, value in told.items() if key not in _OF_THE_ERA and value is not None}
    listed = told.get("replicaStatuses")
    entries = listed if isinstance(listed, list) else ()
    kept["replicaStatuses"] = {
        _role(str(entry.get(type_field))): {key: entry[key] for key in _COUNTERS if key in entry}
        for entry in entries
        if isinstance(entry, Mapping)
    }
    phase = told.get("phase")
    if phase in ("Done", "Failed") and "conditions" not in kept:
        end = "Succeeded" if told.get("state") == "Succeeded" else "Failed"
        why = _NEVER_STARTED if phase == "Failed" else end
        kept["conditions"] = [
            {"type": end, "status": "True", "reason": f"{kind}{why}", "message": told.get("reason") or ""}
        ]
    return kept


def _role(type_: str) -> str:
    return type_ if type_ == "PS" else type_.capitalize()
