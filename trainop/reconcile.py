"""One pass over one job, from start to finish. The file to read first."""

from __future__ import annotations

from typing import Any

from trainop.engine.plan import plan as make_plan
from trainop.framework import Framework
from trainop.kube.act import act
from trainop.kube.cluster import Cluster, observe
from trainop.kube.report import catch_up, report, report_mistake
from trainop.model import Key
from trainop.parse import parse_again


async def reconcile(key: Key, framework: Framework[Any], cluster: Cluster) -> float | None:
    """Seconds until the job is to be looked at again; None when only an event can change anything."""
    raw = cluster.jobs.get(key)
    if raw is None:
        cluster.jobs.forget(key)
        return None
    job = parse_again(framework, raw, cluster.jobs.parsed.get(key))
    cluster.jobs.remember(job)
    await catch_up(cluster, framework, job)
    world = observe(cluster, job)
    try:
        plan = make_plan(framework, job, world, cluster.settings)
        outcome = await act(cluster, framework, job, plan.actions)
    except Exception as error:
        await report_mistake(cluster, framework, job, error)
        raise
    return await report(cluster, framework, job, plan, outcome)
