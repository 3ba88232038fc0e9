"""Telling users what happened: one write of the status for a pass, then the events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainop.engine import blocked, events
from trainop.errors import Gone, Stuck
from trainop.framework import Framework
from trainop.kube.act import Outcome
from trainop.kube.cluster import Cluster, resource
from trainop.model import Job, Plan


async def report(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], plan: Plan, outcome: Outcome
) -> bool:
    """Whether the status was written. Raises what should make the job be tried again.

    Events about children are told whatever becomes of the status: they have happened. The others only once the
    status that they speak of is stored, so that a pass which is dropped has told nothing.
    """
    cluster.recorder.tell(framework, job, events.of_children(outcome.done, job.name))
    trouble = plan.trouble or outcome.trouble
    status = blocked.told(plan.status, trouble, cluster.clock())
    written = await _write(cluster, framework, job, difference(job.status.wire(), status.wire()))
    cluster.recorder.tell(framework, job, (*plan.events, *blocked.warning(job.status, status)))
    if outcome.error:
        raise outcome.error
    if trouble:
        raise Stuck(trouble.message)
    return written


async def _write(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], patch: Mapping[str, Any]
) -> bool:
    if not patch:
        return False
    body = {"metadata": {"resourceVersion": job.resource_version}, "status": patch}
    try:
        stored = await cluster.api.patch(
            resource(framework), job.namespace, job.name, body, dict, subresource="status"
        )
    except Gone:
        cluster.jobs.drop(job.key, job.uid)
        return False
    cluster.jobs.put(job.key, stored)
    return True


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch that makes `new` of `old`."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if inner := difference(before, value):
                patch[key] = inner
        elif before != value:
            patch[key] = value
    return patch
