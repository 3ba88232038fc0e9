"""The causes in the order in which they are asked, and the answer that comes of it."""

from __future__ import annotations

from collections.abc import Iterator

from trainop.api.status import ConditionType, JobStatus
from trainop.engine.roster import State
from trainop.explain import of_ends, of_jobs, of_pods, of_refusals
from trainop.explain.evidence import Evidence
from trainop.explain.findings import Answer, Cause, Finding, duration, ours
from trainop.explain.members import named, progress, rows

ALONE: tuple[Cause, ...] = (
    of_jobs.deletion,
    of_jobs.another_manager,
    of_jobs.success,
    of_jobs.invalid,
    of_jobs.suspension,
    of_jobs.nobody_at_work,
)
"""The first that has something to say ends the questions."""
TOGETHER: tuple[Cause, ...] = (
    of_refusals.refused,
    of_refusals.gang_waits,
    of_ends.out_of_memory,
    of_pods.no_image,
    of_pods.no_container,
    of_pods.no_volume,
    of_pods.unschedulable,
    of_ends.failed,
    of_ends.taken_away,
    of_jobs.out_of_tries,
    of_jobs.out_of_time,
)
"""All that apply are told: what comes first is the cause of what comes later."""


def explain(evidence: Evidence) -> Answer:
    word = state(evidence.job.status)
    for cause in ALONE:
        if found := tuple(cause(evidence)):
            return Answer(word, found)
    found = tuple(finding for cause in TOGETHER for finding in cause(evidence))
    return Answer(word, found or tuple(otherwise(evidence)))


def state(status: JobStatus) -> str:
    """The newest condition that holds; `New` where there is none."""
    if not status.conditions:
        return "New"
    newest = next((c for c in reversed(status.conditions) if c.true), status.conditions[-1])
    return str(newest.type)


def why(status: JobStatus) -> str:
    """The message of that condition."""
    found = status.condition(state(status))
    return found.message if found else ""


def otherwise(evidence: Evidence) -> Iterator[Finding]:
    """Nothing is wrong that could be seen."""
    status, members = evidence.job.status, list(rows(evidence))
    if status.is_true(ConditionType.FAILED):
        yield from of_jobs.failure(evidence)
        return
    waiting = [row for row in members if row.state not in (State.ACTIVE, State.SUCCEEDED)]
    told = [f"{role}: {count} running or done" for role, count in progress(members).items()]
    if status.restart_count:
        told.append(f"restarts so far: {status.restart_count}")
    if waiting:
        message = f"{evidence.title} is starting: it waits for {named(waiting)}."
        told += [f"{row.name}: {row.word}" for row in waiting[:8]]
        yield Finding("Starting", message, tuple(told), (ours(evidence, "status", "-w"),))
        return
    long = f" for {duration(evidence.now - status.start_time)}" if status.start_time else ""
    message = f"{evidence.title} runs as it should{long}: all members are running or done."
    yield Finding("Running", message, tuple(told), (ours(evidence, "logs", "-f"),))
