"""Causes that stand in the job itself: its end, its limits, a spec that cannot be right, suspension, silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainop.api.base import rfc3339
from trainop.api.spec import OurManager
from trainop.api.status import ConditionType
from trainop.engine import labels
from trainop.explain.evidence import Evidence
from trainop.explain.findings import Finding, duration, kubectl, ours

SOON = timedelta(seconds=15)
"""In which an operator that is at work takes a job up."""


def deletion(evidence: Evidence) -> Iterator[Finding]:
    metadata = evidence.raw.get("metadata") or {}
    if not evidence.job.deleting:
        return
    held = metadata.get("finalizers") or ()
    since = f"since {metadata['deletionTimestamp']}"
    told = (f"held by the finalizers {', '.join(held)}",) if held else ()
    then = ("whoever set these finalizers has to take them away",) if held else ()
    yield Finding("BeingDeleted", f"{evidence.title} is being deleted {since}.", told, then)


def another_manager(evidence: Evidence) -> Iterator[Finding]:
    policy = evidence.job.policy
    if not policy.ours:
        message = f"{evidence.title} is left to {policy.managed_by}: this operator does nothing with it."
        told = (f"spec.runPolicy.managedBy is {policy.managed_by}",)
        yield Finding("ManagedByAnother", message, told, (f"look there, or submit it with {OurManager}",))


def success(evidence: Evidence) -> Iterator[Finding]:
    status = evidence.job.status
    if status.is_true(ConditionType.SUCCEEDED):
        yield Finding("Succeeded", f"{evidence.title} has succeeded{_after(evidence)}.")


def invalid(evidence: Evidence) -> Iterator[Finding]:
    """Failed at once, or running under a spec that was right before an edit."""
    job, end = evidence.job, evidence.job.status.condition(ConditionType.FAILED)
    # The operator also knows mistakes that show only when pods are made.
    refused = end is not None and end.true and end.reason.endswith("FailedValidation")
    if not job.problems and not refused:
        return
    told = tuple(map(str, job.problems)) or (end.message if end else "",)
    if job.status.start_time and not job.status.finished:
        message = f"{evidence.title} has been changed to a spec that cannot be right; its pods are left as they are."
    else:
        message = f"{evidence.title} cannot run: its spec is not valid."
    yield Finding("InvalidSpec", message, told, _mend(evidence))


def _mend(evidence: Evidence) -> tuple[str, ...]:
    edit = kubectl(evidence, "edit", evidence.framework.word, evidence.job.name)
    if evidence.job.status.finished:
        return ("mend the file, delete the job and submit it anew", ours(evidence, "delete"))
    return ("mend the spec:", edit)


def suspension(evidence: Evidence) -> Iterator[Finding]:
    job = evidence.job
    if not job.policy.suspend or job.status.finished:
        return
    who = _suspender(evidence.raw)
    told = [f"spec.runPolicy.suspend was set by {who}"] if who else []
    then = [ours(evidence, "resume")]
    if "kueue" in who:
        then = ["wait until Kueue has room for it:", kubectl(evidence, "get", "workloads")]
    message = f"{evidence.title} is suspended: it has no pods until it is resumed."
    if job.status.conditions and not job.status.is_true(ConditionType.SUSPENDED):
        message = f"{evidence.title} is to be suspended; the operator has not done so yet."
        then = ["see whether the operator is at work: trainop doctor"]
    yield Finding("Suspended", message, tuple(told), tuple(then))


def _suspender(raw: Mapping[str, Any]) -> str:
    """Who last wrote the field, as the API server keeps it; empty where it does not say."""
    found = [
        entry
        for entry in (raw.get("metadata") or {}).get("managedFields") or ()
        if "f:suspend" in ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:runPolicy", {})
    ]
    newest = max(found, key=lambda entry: str(entry.get("time", "")), default=None)
    if newest is None:
        return ""
    return f"{newest.get('manager') or 'somebody'} at {newest.get('time')}"


def nobody_at_work(evidence: Evidence) -> Iterator[Finding]:
    job = evidence.job
    if job.status.conditions:
        return
    created = (evidence.raw.get("metadata") or {}).get("creationTimestamp")
    age = evidence.now - datetime.fromisoformat(created) if created else timedelta()
    if age < SOON:
        message = f"{evidence.title} was submitted {duration(age)} ago and has not been taken up yet."
        yield Finding("NotTakenUp", message, (), (ours(evidence, "status", "-w"),))
    else:
        message = f"no operator has taken up {evidence.title} in {duration(age)}."
        told = ("its status has no conditions at all",)
        yield Finding("NoOperator", message, told, ("find out why: trainop doctor",))


def out_of_time(evidence: Evidence) -> Iterator[Finding]:
    if _failed_with(evidence, labels.OVER_DEADLINE):
        limit = evidence.job.policy.active_deadline_seconds
        message = (
            f"{evidence.title} was ended because it took longer than its activeDeadlineSeconds of {limit}."
        )
        then = ("raise spec.runPolicy.activeDeadlineSeconds, delete the job and submit it anew",)
        yield Finding("DeadlineExceeded", message, tuple(_from_to(evidence)), then)


def out_of_tries(evidence: Evidence) -> Iterator[Finding]:
    if _failed_with(evidence, labels.OVER_BACKOFF):
        limit, count = evidence.job.policy.backoff_limit, evidence.job.status.restart_count
        times = "once" if count == 1 else f"{count} times"
        message = (
            f"{evidence.title} was given up after its members failed {times}: its backoffLimit is {limit}."
        )
        then = ("mend what makes them fail, delete the job and submit it anew", ours(evidence, "logs"))
        yield Finding("BackoffLimitExceeded", message, tuple(_exits(evidence)), then)


def failure(evidence: Evidence) -> Iterator[Finding]:
    """Of which nothing else is known any more: the pods are gone."""
    failed = evidence.job.status.condition(ConditionType.FAILED)
    if failed and failed.true:
        told = (failed.message, *_exits(evidence))
        then = ("keep the pods of the next try for their logs: spec.runPolicy.cleanPodPolicy: None",)
        yield Finding("Failed", f"{evidence.title} has failed{_after(evidence)}.", told, then)


def _failed_with(evidence: Evidence, sentence: str) -> bool:
    failed = evidence.job.status.condition(ConditionType.FAILED)
    wanted = labels.say(sentence, evidence.framework, evidence.job)
    return failed is not None and failed.true and failed.message == wanted


def _exits(evidence: Evidence) -> Iterator[str]:
    """What the operator told of ends, while there are events of it."""
    told = (it.message for it in evidence.events if it.reason == labels.EXITED)
    yield from list(dict.fromkeys(told))[-4:]


def _from_to(evidence: Evidence) -> Iterator[str]:
    status = evidence.job.status
    if status.start_time and status.completion_time:
        yield f"it ran from {rfc3339(status.start_time)} to {rfc3339(status.completion_time)}"


def _after(evidence: Evidence) -> str:
    status = evidence.job.status
    if status.start_time and status.completion_time:
        return f" after {duration(status.completion_time - status.start_time)}"
    return ""
