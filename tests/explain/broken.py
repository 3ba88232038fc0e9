"""Broken jobs, and some that are not: each with its cause and the sentence that people get."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.builders import a_condition, a_status, later
from tests.explain.scenes import (
    RUNNING,
    a_pod,
    a_scene,
    an_event,
    ended,
    looping,
    unschedulable,
    waiting,
)
from trainop.engine import labels
from trainop.explain.evidence import Evidence, Node, Owned, PodGroup, Quota

CREATED = a_status("Created", start_time=later(0))
RUNS = a_status("Created", "Running", start_time=later(0))
OVER_BACKOFF = labels.OVER_BACKOFF.format(name="mnist")
OVER_DEADLINE = labels.OVER_DEADLINE.format(name="mnist")


def blocked(reason: str, message: str) -> Any:
    told = a_condition("Blocked", reason=reason, message=message)
    return a_status("Created", told, start_time=later(0))


def failed(message: str, **fields: Any) -> Any:
    told = a_condition("Failed", message=message)
    return a_status("Created", "!Running", told, start_time=later(0), completion_time=later(90), **fields)


def written_by(manager: str) -> Any:
    fields: dict[str, Any] = {"f:spec": {"f:runPolicy": {"f:suspend": {}}}}
    return {"managedFields": [{"manager": manager, "time": "2024-05-01T12:00:00Z", "fieldsV1": fields}]}


def a_node(name: str, gpus: str) -> Node:
    return msgspec.convert(
        {"metadata": {"name": name}, "status": {"allocatable": {"nvidia.com/gpu": gpus}}}, Node
    )


RIVAL = msgspec.convert({"metadata": {"ownerReferences": [{"kind": "MXJob", "name": "mnist"}]}}, Owned)
QUOTA = msgspec.convert(
    {
        "metadata": {"name": "team"},
        "status": {"hard": {"pods": "4", "cpu": "8"}, "used": {"pods": "4", "cpu": "6"}},
    },
    Quota,
)
GROUP = msgspec.convert(
    {
        "metadata": {"name": "mnist"},
        "spec": {"minMember": 3, "queue": "batch"},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "Unschedulable", "status": "True", "message": "3/3 tasks unschedulable"}],
        },
    },
    PodGroup,
)

BROKEN: dict[str, tuple[Evidence, str, str]] = {
    "quota": (
        a_scene(
            status=blocked(
                "QuotaExceeded",
                'pod mnist-worker-0 cannot be created: pods "mnist-worker-0" is forbidden: exceeded quota: team, '
                "requested: pods=1, used: pods=4, limited: pods=4",
            ),
            Worker=1,
            more={"quotas": (QUOTA,)},
        ),
        "QuotaExceeded",
        "the quota team leaves no room for TFJob ns/mnist (pods).",
    ),
    "no node with room": (
        a_scene(
            *(
                a_pod(
                    "Worker",
                    i,
                    conditions=(unschedulable("0/5 nodes are available: 5 Insufficient nvidia.com/gpu."),),
                    resources={"limits": {"nvidia.com/gpu": "2"}},
                )
                for i in range(2)
            ),
            status=CREATED,
            Worker=2,
            more={"nodes": (a_node("small", "0"), a_node("large", "1"))},
        ),
        "Unschedulable",
        "no node takes worker-0 and worker-1: there is not enough nvidia.com/gpu.",
    ),
    "a taint and a selector": (
        a_scene(
            a_pod(
                "Worker",
                conditions=(
                    unschedulable(
                        "0/5 nodes are available: 2 node(s) had untolerated taint {dedicated: infra}, 3 node(s) "
                        "didn't match Pod's node affinity/selector. preemption: 0/5 nodes are available: 5 "
                        "Insufficient cpu."
                    ),
                ),
            ),
            status=CREATED,
            Worker=1,
        ),
        "Unschedulable",
        "no node takes worker-0: there is the taint dedicated: infra that it does not tolerate and no node that its "
        "nodeSelector or affinity allows.",
    ),
    "an image that is not there": (
        a_scene(
            a_pod("Worker", container=waiting("ImagePullBackOff", 'Back-off pulling image "train:1"')),
            status=CREATED,
            events=(an_event("mnist-worker-0", "Failed", 'Failed to pull image "train:1": not found'),),
            Worker=1,
        ),
        "ImagePull",
        "the image train:1 of worker-0 cannot be pulled.",
    ),
    "a crash loop": (
        a_scene(
            a_pod("Worker", phase="Running", container=looping(1, restarts=4)),
            status=RUNS,
            restart="OnFailure",
            Worker=1,
            more={"last_words": {"mnist-worker-0": ("Traceback", "KeyError: 'loss'")}},
        ),
        "CrashLoop",
        "worker-0 fails again and again with exit code 1: the program failed; its last lines say why.",
    ),
    "out of memory": (
        a_scene(
            a_pod(
                "Worker",
                phase="Running",
                container=looping(137, restarts=2, reason="OOMKilled"),
                resources={"limits": {"memory": "1Gi"}},
            ),
            status=RUNS,
            restart="OnFailure",
            Worker=1,
        ),
        "OutOfMemory",
        "container tensorflow of worker-0 used more memory than its limit and was killed.",
    ),
    "a gang that finds no place": (
        a_scene(status=a_status("Created"), Worker=3, more={"group": GROUP}),
        "WaitingForGang",
        "TFJob ns/mnist waits for its gang: 3 pods have to find a place at once before any starts.",
    ),
    "suspended": (
        a_scene(
            status=a_status("Created", "Suspended"),
            policy={"suspend": True},
            metadata=written_by("kubectl-edit"),
            Worker=1,
        ),
        "Suspended",
        "TFJob ns/mnist is suspended: it has no pods until it is resumed.",
    ),
    "suspended while nobody is at work": (
        a_scene(a_pod("Worker", phase="Running"), status=RUNS, policy={"suspend": True}, Worker=1),
        "Suspended",
        "TFJob ns/mnist is to be suspended; the operator has not done so yet.",
    ),
    "a name that is taken": (
        a_scene(
            status=blocked(
                "NameConflict", "pod mnist-worker-0 exists and is not this job's: delete or rename it"
            ),
            Worker=1,
            more={"rival": RIVAL},
        ),
        "NameConflict",
        "TFJob ns/mnist cannot make its pod mnist-worker-0: there is one of that name already.",
    ),
    "a spec that cannot be right": (
        a_scene(status=failed("TFJob failed validation"), Worker={"replicas": -1}),
        "InvalidSpec",
        "TFJob ns/mnist cannot run: its spec is not valid.",
    ),
    "a mistake that only the operator sees": (
        a_scene(
            status=a_status(
                "Created",
                a_condition("Failed", reason="TFJobFailedValidation", message="TF_CONFIG is too long"),
            ),
            Worker=1,
        ),
        "InvalidSpec",
        "TFJob ns/mnist cannot run: its spec is not valid.",
    ),
    "a spec that was right before an edit": (
        a_scene(a_pod("Worker", phase="Running"), status=RUNS, Worker={"replicas": -1}),
        "InvalidSpec",
        "TFJob ns/mnist has been changed to a spec that cannot be right; its pods are left as they are.",
    ),
    "past its deadline": (
        a_scene(status=failed(OVER_DEADLINE), policy={"activeDeadlineSeconds": 60}, Worker=1),
        "DeadlineExceeded",
        "TFJob ns/mnist was ended because it took longer than its activeDeadlineSeconds of 60.",
    ),
    "restarted too often": (
        a_scene(status=failed(OVER_BACKOFF, restart_count=3), policy={"backoffLimit": 3}, Worker=1),
        "BackoffLimitExceeded",
        "TFJob ns/mnist was given up after its members failed 3 times: its backoffLimit is 3.",
    ),
    "a ConfigMap that is not there": (
        a_scene(
            a_pod("Worker", container=waiting("CreateContainerConfigError", 'configmap "params" not found')),
            status=CREATED,
            Worker=1,
        ),
        "ContainerCannotStart",
        "container tensorflow of worker-0 cannot start: the ConfigMap params is not there.",
    ),
    "a key that a Secret does not have": (
        a_scene(
            a_pod(
                "Worker",
                container=waiting("CreateContainerConfigError", "couldn't find key token in Secret ns/hub"),
            ),
            status=CREATED,
            Worker=1,
        ),
        "ContainerCannotStart",
        "container tensorflow of worker-0 cannot start: Secret ns/hub has no key token.",
    ),
    "a command that is not in the image": (
        a_scene(
            a_pod(
                "Worker",
                phase="Running",
                container=waiting("RunContainerError", 'exec: "pyhton": executable file not found in $PATH'),
            ),
            status=CREATED,
            Worker=1,
        ),
        "ContainerCannotStart",
        "container tensorflow of worker-0 cannot start: its command pyhton cannot be executed.",
    ),
    "a volume that cannot be mounted": (
        a_scene(
            a_pod("Worker", container=waiting("ContainerCreating")),
            status=CREATED,
            events=(an_event("mnist-worker-0", "FailedMount", 'MountVolume.SetUp failed for volume "data"'),),
            Worker=1,
        ),
        "VolumeMount",
        "worker-0 cannot start: volume data cannot be mounted.",
    ),
    "Pod Security": (
        a_scene(
            status=blocked(
                "Forbidden",
                'pod mnist-worker-0 cannot be created: violates PodSecurity "restricted:latest": '
                "runAsNonRoot != true (pod or container must set it), seccompProfile (pod must set it)",
            ),
            Worker=1,
        ),
        "PodSecurity",
        "the namespace demands Pod Security restricted:latest, which the pods of TFJob ns/mnist do not keep.",
    ),
    "a template that the API server refuses": (
        a_scene(status=blocked("InvalidTemplate", "pod mnist-worker-0 cannot be created: spec.x"), Worker=1),
        "InvalidTemplate",
        "the API server does not take the pods of TFJob ns/mnist: their template is wrong.",
    ),
    "a policy that forbids it": (
        a_scene(status=blocked("Forbidden", "pod mnist-worker-0 cannot be created: denied"), Worker=1),
        "Forbidden",
        "the cluster does not let the operator make what TFJob ns/mnist needs.",
    ),
    "a framework that raises": (
        a_scene(status=blocked("OperatorError", "KeyError: 'loss' (framework.py, line 3)"), Worker=1),
        "OperatorError",
        "a mistake in the operator, or in its framework for TFJobs.",
    ),
    "no gang scheduler": (
        a_scene(status=blocked("PodGroupUnavailable", "no PodGroup can be made"), Worker=1),
        "NoGangScheduler",
        "TFJob ns/mnist waits for a gang scheduler that is not there.",
    ),
    "no operator": (
        a_scene(Worker=1),
        "NoOperator",
        "no operator has taken up TFJob ns/mnist in 10m.",
    ),
    "an operator that had no time yet": (
        a_scene(Worker=1, metadata={"creationTimestamp": "2024-05-01T12:09:57Z"}),
        "NotTakenUp",
        "TFJob ns/mnist was submitted 3s ago and has not been taken up yet.",
    ),
    "left to another": (
        a_scene(policy={"managedBy": "kueue.x-k8s.io/multikueue"}, Worker=1),
        "ManagedByAnother",
        "TFJob ns/mnist is left to kueue.x-k8s.io/multikueue: this operator does nothing with it.",
    ),
    "being deleted": (
        a_scene(
            status=RUNS,
            metadata={"deletionTimestamp": "2024-05-01T12:05:00Z", "finalizers": ["a/b"]},
            Worker=1,
        ),
        "BeingDeleted",
        "TFJob ns/mnist is being deleted since 2024-05-01T12:05:00Z.",
    ),
    "a member that failed for good": (
        a_scene(
            a_pod("Worker", phase="Failed", container=ended(139)),
            status=failed("TFJob mnist has failed"),
            restart="ExitCode",
            Worker=1,
        ),
        "MemberFailed",
        "worker-0 has failed with exit code 139: SIGSEGV: it crashed in native code.",
    ),
    "failed, and nothing left to look at": (
        a_scene(status=failed("TFJob ns/mnist has failed because 1 Worker replica(s) failed."), Worker=1),
        "Failed",
        "TFJob ns/mnist has failed after 1m30s.",
    ),
    "evicted": (
        a_scene(
            a_pod(
                "Worker", phase="Failed", reason="Evicted", message="The node was low on resource: memory."
            ),
            status=RUNS,
            restart="OnFailure",
            Worker=1,
        ),
        "TakenAway",
        "worker-0: taken away by the cluster (Evicted).",
    ),
    "a pod that is being deleted": (
        a_scene(a_pod("Worker", phase="Running", deleting=True), status=RUNS, Worker=1),
        "TakenAway",
        "worker-0: its pod is being deleted.",
    ),
    "starting": (
        a_scene(
            a_pod("Worker", 0, phase="Running", container=RUNNING),
            a_pod("Worker", 1, container=waiting("ContainerCreating")),
            status=RUNS,
            Worker=2,
        ),
        "Starting",
        "TFJob ns/mnist is starting: it waits for worker-1.",
    ),
    "running as it should": (
        a_scene(a_pod("Worker", phase="Running", container=RUNNING), status=RUNS, Worker=1),
        "Running",
        "TFJob ns/mnist runs as it should for 10m: all members are running or done.",
    ),
    "succeeded": (
        a_scene(
            a_pod("Worker", phase="Succeeded", container=ended(0, "Completed")),
            status=a_status("Created", "Succeeded", start_time=later(0), completion_time=later(60)),
            Worker=1,
        ),
        "Succeeded",
        "TFJob ns/mnist has succeeded after 1m.",
    ),
}
