"""The cluster as one pass over a job sees it: what is known of it, and the way to change it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

from trainop.api.status import JobStatus
from trainop.engine.gang import Scheduler
from trainop.framework import Framework
from trainop.kube.caches import Caches
from trainop.kube.jobs import Jobs
from trainop.kube.port import Api, Resource
from trainop.kube.recorder import Recorder
from trainop.model import DEFAULTS, Job, SeenPod, SeenPodGroup, SeenService, Settings, Topology, World


def wall_clock() -> datetime:
    """Whole seconds, as Kubernetes writes times."""
    return _moment(int(time.time()))


@lru_cache(maxsize=1)
def _moment(second: int) -> datetime:
    """One for all who ask within it."""
    return datetime.fromtimestamp(second, UTC)


class Listener(Protocol):
    """Hears what was really done, once each: for logs and metrics."""

    def stored(self, framework: Framework[Any], job: Job[Any], status: JobStatus) -> None:
        """The job, which had its old status, has this one now."""

    def deleted(self, framework: Framework[Any], job: Job[Any]) -> None:
        """We have deleted it: its time to live was over."""


class _Silence:
    """Nobody listens."""

    def stored(self, framework: Framework[Any], job: Job[Any], status: JobStatus) -> None: ...

    def deleted(self, framework: Framework[Any], job: Job[Any]) -> None: ...


SILENCE = _Silence()


@dataclass(frozen=True)
class Cluster:
    api: Api
    """Raises Deposed instead of writing when another operator may be leading."""
    jobs: Jobs
    pods: Caches[SeenPod]
    services: Caches[SeenService]
    recorder: Recorder
    pod_groups: Caches[SeenPodGroup] | None = None
    """None: no gang scheduling."""
    settings: Settings = DEFAULTS
    clock: Callable[[], datetime] = wall_clock
    listener: Listener = SILENCE
    placed: Callable[[Topology], Topology] = lambda members: members
    """Says where members are reached, where that is not by the names of their services."""


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
        no_pod_groups=groups.refusal(job.namespace) if groups is not None else "",
        now=cluster.clock(),
    )
