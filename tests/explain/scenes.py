"""Short words for broken jobs as the API server shows them: a job, its pods, what a kubelet says of a container."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.builders import NAME, TF, Raw, a_manifest, child_name, later
from trainop.api.base import rfc3339
from trainop.api.status import JobStatus
from trainop.explain.evidence import Evidence
from trainop.kube.facts import recorded

NOW = later(600)


def a_scene(
    *pods: Raw, status: JobStatus | None = None, events: tuple[Raw, ...] = (), **words: Any
) -> Evidence:
    """A TFJob ten minutes after it was submitted; `more` is other evidence, the words are those of `a_manifest`."""
    more: dict[str, Any] = words.pop("more", {})
    metadata = {"creationTimestamp": rfc3339(later(0))} | words.pop("metadata", {})
    job = a_manifest(TF, metadata=metadata, status=status, **words)
    return replace(recorded(TF, job, pods, events, NOW), **more)


def a_pod(
    role: str,
    index: int = 0,
    phase: str = "Pending",
    *,
    conditions: tuple[Raw, ...] = (),
    container: Raw | None = None,
    resources: Raw | None = None,
    deleting: bool = False,
    **status: Any,
) -> Raw:
    """`container` is the status of the one that does the training."""
    name = child_name(role, index)
    spec = {"name": "tensorflow", "image": "train:1", "resources": resources or {}}
    labels = {"replica-type": role.lower(), "replica-index": str(index)}
    metadata: Raw = {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": rfc3339(later(10)),
        "labels": {f"training.kubeflow.org/{key}": value for key, value in labels.items()},
    }
    if deleting:
        metadata["deletionTimestamp"] = rfc3339(later(500))
    told = {"phase": phase, "conditions": list(conditions), **status}
    if container is not None:
        told["containerStatuses"] = [{"name": "tensorflow", "image": "train:1"} | container]
    return {"metadata": metadata, "spec": {"nodeName": "node-1", "containers": [spec]}, "status": told}


def waiting(reason: str, message: str = "", **more: Any) -> Raw:
    return {"state": {"waiting": {"reason": reason, "message": message}}, **more}


def ended(code: int, reason: str = "Error", **more: Any) -> Raw:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, **more}}}


def looping(code: int, restarts: int, reason: str = "Error") -> Raw:
    before = {"terminated": {"exitCode": code, "reason": reason}}
    return waiting("CrashLoopBackOff", "back-off 40s", lastState=before, restartCount=restarts)


RUNNING: Raw = {"state": {"running": {}}}


def unschedulable(message: str) -> Raw:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


def an_event(about: str, reason: str, message: str, *, at: datetime = NOW, version: int = 1) -> Raw:
    uid = f"uid-{about}" if about != NAME else "job-uid"
    return {
        "metadata": {"resourceVersion": str(version)},
        "involvedObject": {"kind": "Pod", "name": about, "uid": uid},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": rfc3339(at),
    }
