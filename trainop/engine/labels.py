"""Every label, annotation, reason and sentence that users, dashboards and SDKs may look for."""

from __future__ import annotations

from typing import Any

from trainop.framework import Framework
from trainop.model import Job, Member

# --- labels of pods and services: the Python SDK and users' selectors depend on them ------------------------
OPERATOR_NAME = "training.kubeflow.org/operator-name"
JOB_NAME = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
JOB_ROLE = "training.kubeflow.org/job-role"
JOB_ROLE_MASTER = "master"
TEMPLATE = "training.kubeflow.org/template-hash"
"""An annotation of ours: which template a pod was made of."""

# --- how gang schedulers know which pods belong together ----------------------------------------------------
POD_GROUP = "scheduling.x-k8s.io/pod-group"
VOLCANO_GROUP = "scheduling.k8s.io/group-name"
VOLCANO_TASK = "volcano.sh/task-spec"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's own annotation: of the object it applied, and of no other."""

# --- reasons of events about children; those about the job start with its kind, see `reason` ----------------
CREATED_POD = "SuccessfulCreatePod"
CREATED_SERVICE = "SuccessfulCreateService"
DELETED_POD = "SuccessfulDeletePod"
DELETED_SERVICE = "SuccessfulDeleteService"
DELETED_POD_GROUP = "SuccessfulDeletePodGroup"
DELETED_JOB = "SuccessfulDeleteJob"
TERMINATED = "JobTerminated"
FAILED_CREATE_POD = "FailedCreatePod"
FAILED_CREATE_SERVICE = "FailedCreateService"
FAILED_DELETE_POD = "FailedDeletePod"
FAILED_DELETE_SERVICE = "FailedDeleteService"
FAILED_DELETE_POD_GROUP = "FailedDeletePodGroup"
FAILED_DELETE_JOB = "FailedDeleteJob"
EXITED = "ExitedWithCode"
RESTART_POLICY_OVERWRITTEN = "SettedPodTemplateRestartPolicy"
SCHEDULER_KEPT = "SettedPodTemplateSchedulerName"
ENV_OVERWRITTEN = "OverwroteEnvironment"
READ_AS = "SpecReadAs"
NO_REASON = "Error"
"""Where the cluster complains of a pod and gives none."""

# --- sentences that are the same for every framework; the others are in framework.Wording -------------------
IS_CREATED = "{kind} {name} is created."
IS_SUSPENDED = "{kind} {name} is suspended."
IS_RESUMED = "{kind} {name} is resumed."
IS_RESTARTING = "job {name} is restarting because {role} replica(s) failed."
IS_FAILING = 'job "{name}" is failing because "{role}" replica(s) failed.'
OVER_BACKOFF = "Job {name} has failed because it has reached the specified backoff limit"
OVER_DEADLINE = "Job {name} has failed because it was active longer than specified deadline"
POD_EXITED = "Pod: {namespace}.{pod} exited with code {code}"
CONTAINER_ENDED = "Error {pods} container {container} exitCode: {code} terminated message: {message}"
CONTAINER_WAITS = "Error {pods} container {container} waiting message: {message}"
POD_CONDITION = "Error {pods} condition message: {message}"
NOT_CREATED = "Error creating: {error}"
NOT_DELETED = "Error deleting: {error}"
RESTART_POLICY_SENTENCE = (
    "Restart policy in pod template will be overwritten by restart policy in replica spec"
)
SCHEDULER_SENTENCE = (
    "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
)
ENV_SENTENCE = (
    "{names} in container {container} of {role} is set by the operator; "
    "the value in the pod template is not used"
)
TERMINATED_SENTENCE = "Job has been terminated. Deleting PodGroup"
NO_POD_GROUPS = (
    "no PodGroup of {api} can be made: {why}; install {product}, "
    "or start the operator without --gang-scheduler-name"
)
OPERATOR_ERROR = (
    "the operator cannot work out what the job needs: {error}; it tries again, and its log has more"
)
NOT_BLOCKED = "Nothing keeps the operator from making progress."


def reason(framework: Framework[Any], what: str) -> str:
    """`TFJobRunning` and its sisters."""
    return f"{framework.kind}{what}"


def say(sentence: str, framework: Framework[Any], job: Job[Any], **more: object) -> str:
    return sentence.format(kind=framework.kind, namespace=job.namespace, name=job.name, **more)


def of_role(framework: Framework[Any], job: Job[Any], role: str) -> dict[str, str]:
    return {OPERATOR_NAME: framework.controller, JOB_NAME: job.name, REPLICA_TYPE: role.lower()}


def of_member(framework: Framework[Any], job: Job[Any], member: Member) -> dict[str, str]:
    return of_child(framework, job, member.role, member.index)


def of_child(framework: Framework[Any], job: Job[Any], role: str, index: int | None = None) -> dict[str, str]:
    """With those of the kind's own manner. A companion has no index."""
    number = {} if index is None else {REPLICA_INDEX: str(index)}
    return of_role(framework, job, role) | number | dict(framework.manner.labels(job, role, index))


def owner(job: Job[Any]) -> dict[str, Any]:
    """The reference by which a child goes with its job."""
    return {
        "apiVersion": job.key.gvk.api_version,
        "kind": job.key.gvk.kind,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def selector(framework: Framework[Any], job: Job[Any], role: str) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(of_role(framework, job, role).items()))
