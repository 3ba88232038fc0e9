"""The witness itself: each promise that can be broken is told, and a good story is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.production.witness import JOBS, Revision, violations
from trainop.engine import labels
from trainop.kube.port import PODS, Raw

OWNER = {"uid": "job", "controller": True}


def a_job(version: int, *conditions: str, spec: Mapping[str, Any] | None = None, **status: Any) -> Revision:
    told = [{"type": c, "status": "True", "lastTransitionTime": "t"} for c in conditions]
    replicas = {"tfReplicaSpecs": {"Worker": {"replicas": 2}}, **(spec or {})}
    metadata = {"name": "j", "uid": "job", "resourceVersion": str(version)}
    return Revision(
        JOBS[0],
        "MODIFIED",
        {"metadata": metadata, "spec": replicas, "status": {"conditions": told, **status}},
    )


def a_pod(version: int, uid: str, index: int = 0, *, phase: str = "Pending", **metadata: Any) -> Revision:
    named = {labels.REPLICA_TYPE: "worker", labels.REPLICA_INDEX: str(index), labels.OPERATOR_NAME: "tfjob"}
    body: Raw = {"name": f"j-worker-{index}", "uid": uid, "resourceVersion": str(version), "labels": named}
    body |= {"ownerReferences": [OWNER]} | metadata
    return Revision(PODS, "ADDED", {"metadata": body, "status": {"phase": phase}})


GOOD = [
    a_job(1),
    a_pod(2, "a"),
    a_pod(3, "b", 1),
    a_job(4, "Created", startTime="t"),
    a_job(5, "Created", "Running", startTime="t", restartCount=1),
    a_job(6, "Created", "Succeeded", startTime="t", completionTime="t", restartCount=1),
]


def test_a_good_story_is_told_without_a_complaint() -> None:
    assert list(violations(GOOD)) == []


@pytest.mark.parametrize(
    ("what_follows", "complaint"),
    [
        ([a_pod(3, "b")], "S1 2 pods live for worker 0"),
        ([a_pod(3, "b", 2)], "S1 a pod lives for worker 2 of 2"),
        ([a_pod(3, "b", ownerReferences=[])], "S2 3 ADDED pods j-worker-0: its controllers are []"),
        ([a_pod(3, "b", ownerReferences=[{**OWNER, "uid": "other"}])], "none of them a job here"),
        ([a_job(3, "Failed"), a_pod(4, "b", 1)], "made although its job has Failed"),
        ([a_job(3, "Suspended", spec={"runPolicy": {"suspend": True}}), a_pod(4, "b", 1)], "is suspended"),
        ([a_job(3, "Succeeded", "Failed")], "S4 both Succeeded and Failed"),
        ([a_job(3, "Succeeded"), a_job(4, "Running")], "S4 Succeeded was taken back"),
        ([a_job(3, startTime="t"), a_job(4, startTime="u")], "S4 startTime went from t to u"),
        ([a_job(3, restartCount=2), a_job(4, restartCount=1)], "S5 the restart count fell"),
        ([a_job(3, replicaStatuses={"Worker": {"active": 2, "failed": 1}})], "S5 Worker counts more than"),
    ],
)
def test_each_broken_promise_is_told(what_follows: list[Revision], complaint: str) -> None:
    told = list(violations([a_job(1), a_pod(2, "a"), *what_follows]))
    assert any(complaint in sentence for sentence in told), told
