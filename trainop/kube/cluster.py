"""The cluster as one pass over a job sees it: what is known of it, and the way to change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trainop.framework import Framework
from trainop.kube.cache import Cache
from trainop.kube.jobs import Jobs
from trainop.kube.port import Api, Resource
from trainop.kube.recorder import Recorder
from trainop.model import Job, SeenPod, SeenService, World


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
    domain: str = ""
    """Appended to the DNS names that members are told, when the cluster has a domain of its own."""
    clock: Callable[[], datetime] = wall_clock


def resource(framework: Framework[Any]) -> Resource:
    return Resource(framework.group, framework.version, framework.plural)


def observe(cluster: Cluster, job: Job[Any]) -> World:
    """Only what the job controls, in its own namespace: a reference forged elsewhere is none."""
    return World(
        pods=cluster.pods.of(job.uid, job.namespace),
        services=cluster.services.of(job.uid, job.namespace),
        now=cluster.clock(),
    )
