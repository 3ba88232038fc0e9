"""Telling users what happened: at most one write of the status for a pass, then the events.

Conditions are written at once, unless the plan says that more is about to come. Counters alone may wait a moment: ten
pods that start together are one write.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from trainop.api.base import rfc3339
from trainop.engine import blocked, events, labels
from trainop.engine.plan import AT_ONCE
from trainop.errors import Conflict, Gone, Refused, Stuck, Temporary, TrainopError, Unreachable, in_short
from trainop.framework import Framework
from trainop.kube.act import Outcome
from trainop.kube.cluster import Cluster, resource
from trainop.kube.jobs import Story
from trainop.kube.wire import RawJob
from trainop.model import DeleteJob, Job, Plan, Trouble

COUNTERS = {"replicaStatuses", "progress", "lastReconcileTime"}
COUNTERS_MAY_WAIT = 0.25
"""Seconds."""


async def report(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], plan: Plan, outcome: Outcome
) -> float | None:
    """Seconds until the job is to be looked at again. Raises what should make it be tried again.

    Events about children are told whatever becomes of the status: they have happened. The others only once the
    status that they speak of is stored, so that a pass which is dropped has told nothing.
    """
    if outcome.done:
        cluster.recorder.tell(framework, job, events.of_children(outcome.done, job.name))
        if any(isinstance(action, DeleteJob) for action in outcome.done):
            cluster.listener.deleted(framework, job)
    if outcome.failed:
        cluster.recorder.tell(framework, job, events.of_failures(outcome.failed))
    trouble = plan.trouble or outcome.trouble
    now = cluster.clock()
    status = blocked.told(plan.status, trouble, now)
    tell = framework.manner.tell
    patch = difference(tell(job, job.status), tell(job, status)) if status != job.status else {}
    if patch:
        # With a write that is made anyway: one for its own sake would wake the job again, and so on.
        status = replace(status, last_reconcile_time=now)
        patch["lastReconcileTime"] = rfc3339(now)
    may_wait = COUNTERS_MAY_WAIT if patch.keys() <= COUNTERS else plan.may_wait
    if patch and may_wait and not (outcome.done or outcome.error or trouble):
        wait = cluster.jobs.put_off(job.key, may_wait)
        if wait > 0:
            return wait if plan.wake_after is None else min(wait, plan.wake_after)
    cluster.jobs.put_off_no_longer(job.key)
    story = Story(job, status, (*plan.events, *blocked.warning(job.status, status)))
    stored = await _write(cluster, framework, story, patch)
    _tell(cluster, framework, story, written=stored is not None)
    if outcome.error:
        raise outcome.error
    if trouble:
        raise Stuck(trouble.message)
    version = stored["metadata"]["resourceVersion"] if stored else job.resource_version
    return AT_ONCE if cluster.jobs.moved_on(job.key, version) else plan.wake_after


async def report_mistake(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], error: Exception
) -> None:
    """Whoever waits for the job is told if a mistake in trainop, or in the framework, stands in its way."""
    if isinstance(error, TrainopError):
        return
    trouble = Trouble("OperatorError", labels.OPERATOR_ERROR.format(error=in_short(error)))
    with suppress(Temporary):
        await report(cluster, framework, job, Plan(status=job.status, trouble=trouble), Outcome())


async def _write(
    cluster: Cluster, framework: Framework[Any], story: Story, patch: Mapping[str, Any]
) -> RawJob | None:
    """The job as it is stored then; None: nothing was."""
    job = story.job
    if not patch:
        return None
    body = {"metadata": {"resourceVersion": job.resource_version}, "status": patch}
    cluster.jobs.writing.add(job.key)
    try:
        stored = await cluster.api.patch(
            resource(framework), job.namespace, job.name, body, RawJob, subresource="status"
        )
    except Gone:
        cluster.jobs.drop(job.key, job.uid)
        return None
    except Unreachable:
        cluster.jobs.unsure[job.key] = story
        raise
    except Refused as error:
        if error.code == 422:
            # Before 1.33 Kubernetes takes no status of a job that breaks a rule, however old the job is: then the
            # events alone have to say so. As stories, because the next tries would tell them again.
            untold = [replace(event, story=event.story or event.message) for event in story.events]
            cluster.recorder.tell(framework, job, untold)
        raise
    finally:
        cluster.jobs.writing.discard(job.key)
    cluster.jobs.unsure.pop(job.key, None)
    cluster.jobs.put(job.key, stored)
    return stored


async def catch_up(cluster: Cluster, framework: Framework[Any], job: Job[Any]) -> None:
    """A write to which no answer came may have been taken: then what it says has not been told yet.

    To be called before anything is planned: Conflict, when the job is not what it was known to be.
    """
    story = cluster.jobs.unsure.get(job.key)
    if story is None:
        return
    if story.job.resource_version == job.resource_version:
        # The watch has not told of it either.
        try:
            stored = await cluster.api.get(resource(framework), job.namespace, job.name, RawJob)
        except Gone:
            cluster.jobs.drop(job.key, job.uid)
            raise
        if cluster.jobs.put(job.key, stored):
            raise Conflict(f"{job.key} has changed since it was looked at")
        return
    del cluster.jobs.unsure[job.key]
    if story.job.uid == job.uid and story.status == job.status:
        _tell(cluster, framework, story, written=True)


def _tell(cluster: Cluster, framework: Framework[Any], story: Story, *, written: bool) -> None:
    cluster.recorder.tell(framework, story.job, story.events)
    if written:
        cluster.listener.stored(framework, story.job, story.status)


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch that makes `new` of `old`."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if inner := difference(before, value):
                patch[key] = inner
        elif before != value:
            patch[key] = value
    return patch
