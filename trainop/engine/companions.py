"""What stands beside the members of a job and is no part of the training: its pod and its service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainop import template
from trainop.engine import labels
from trainop.framework import Companion, Framework
from trainop.model import Job, Member


def members(framework: Framework[Any], job: Job[Any]) -> Iterator[tuple[Member, bool]]:
    """Every companion that a job of this framework may have, and whether this one wants it."""
    for companion in framework.companions:
        wanted = bool(job.replicas) and companion.pod(job) is not None
        yield Member(companion.name, 0, child_name(job, companion), "", 0), wanted


def child_name(job: Job[Any], companion: Companion[Any]) -> str:
    """Of its pod and its service. It has no number: there is one of a kind."""
    return companion.named(job) if companion.named else f"{job.name}-{companion.name.lower()}"


def pod(framework: Framework[Any], job: Job[Any], companion: Companion[Any]) -> dict[str, Any]:
    written = companion.pod(job) or {}
    metadata = _metadata(framework, job, companion)
    metadata["labels"] = template.metadata(written, "labels") | metadata["labels"]
    if annotations := template.metadata(written, "annotations"):
        metadata["annotations"] = annotations
    spec = {**written["spec"], "restartPolicy": "Always"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def service(framework: Framework[Any], job: Job[Any], companion: Companion[Any]) -> dict[str, Any]:
    metadata = _metadata(framework, job, companion)
    spec = {**companion.service(job), "selector": metadata["labels"]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _metadata(framework: Framework[Any], job: Job[Any], companion: Companion[Any]) -> dict[str, Any]:
    return {
        "name": child_name(job, companion),
        "namespace": job.namespace,
        "labels": labels.of_child(framework, job, companion.name),
        "ownerReferences": [labels.owner(job)],
    }
