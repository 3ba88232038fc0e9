"""The cluster as one pass over a job sees it: what is known of it, and the way to change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trainop.engine.gang import Scheduler
from trainop.framework import Framework
from trainop.kube.cache import Cache
from trainop.kube.jobs import Jobs
from trainop.kube.port import Api, Resource
from trainop.kube.recorder import Recorder
from trainop.model import DEFAULTS, Job, SeenPod, SeenPodGroup, SeenService, Settings, World


def wall_clock() -> datetime:
    """Whole seconds, as Kubernetes writes times."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Cluster:
    api: Api
    jobs: Jobs
    pods: Cache[SeenPod]
    services: Cache[SeenService]
    recorder: Recorder
    pod_groups: Cache[SeenPodGroup] | None = None
    """None: no gang scheduling."""
    settings: Settings = DEFAULTS
    clock: Callable[[], datetime] = wall_clock


def resource(framework: Framework[Any]) -> Resource:
    return Resource(framework.group, framework.version, framework.plural)


def pod_groups(scheduler: Scheduler) -> Resource:
    return Resource(scheduler.gvk.group, scheduler.gvk.version, "podgroups")


def observe(cluster: Cluster, job: Job[Any]) -> World:
    """Only what the job controls, in its own namespace: a reference forged elsewhere is none."""
    groups = cluster.pod_groups
    ours = groups.of(job.uid, job.namespace) if groups is not None else ()
    return World(
        pods=cluster.pods.of(job.uid, job.namespace),
        services=cluster.services.of(job.uid, job.namespace),
        pod_group=next((group for group in ours if group.name == job.name), None),
        no_pod_groups=groups.refusal if groups is not None else "",
        now=cluster.clock(),
    )
