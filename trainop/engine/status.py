"""The counters of a job's status, from what was seen."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from trainop.api.status import JobStatus, ReplicaStatus
from trainop.engine import indexes, labels
from trainop.engine.roster import Roster, State
from trainop.framework import Framework
from trainop.model import Job

FAILED = (State.FAILED, State.RETRY, State.LOST)


def observed(framework: Framework[Any], job: Job[Any], status: JobStatus, roster: Roster) -> JobStatus:
    replica_statuses = {
        role: ReplicaStatus(
            active=len(states.get(State.ACTIVE, ())),
            succeeded=len(states.get(State.SUCCEEDED, ())),
            failed=sum(len(states.get(state, ())) for state in FAILED),
            selector=labels.selector(framework, job, role),
            succeeded_indexes=indexes.render(states.get(State.SUCCEEDED, ())),
        )
        for role, states in roster.states.items()
    }
    progress = _progress(replica_statuses, len(roster.places))
    return replace(status, replica_statuses=replica_statuses, progress=progress)


def _progress(roles: dict[str, ReplicaStatus], total: int) -> str:
    return f"{sum(role.active + role.succeeded for role in roles.values())}/{total}"


def idle(job: Job[Any], status: JobStatus) -> JobStatus:
    """Nothing is active while suspended; what had succeeded or failed stays on record."""
    kept = {role: replace(old, active=0) for role, old in status.replica_statuses.items()}
    total = sum(replica.replicas for replica in job.replicas.values())
    return replace(status, replica_statuses=kept, progress=f"0/{total}")


def after_end(status: JobStatus, roster: Roster) -> JobStatus:
    """The end is on record as it was seen; only what still runs is counted anew."""
    roles = status.replica_statuses
    active = {role: len(roster.states.get(role, {}).get(State.ACTIVE, ())) for role in roles}
    if all(old.active == active[role] for role, old in roles.items()):
        return status
    counted = {role: replace(old, active=active[role]) for role, old in roles.items()}
    return replace(status, replica_statuses=counted)
