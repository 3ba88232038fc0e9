"""What the end of a pod means: success, failure for good, another try; and how tries are counted.

Counting comes first, acting on the next pass: the count is stored before the pod it was taken from is
deleted, so that an operator that dies in between neither forgets a failure nor counts it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from msgspec.structs import replace

from trainop import manner
from trainop.api.spec import RestartPolicy
from trainop.api.status import JobStatus
from trainop.model import SeenContainer, SeenPod

CLUSTERS_DOING = frozenset(
    {
        "Evicted",
        "NodeLost",
        "NodeShutdown",
        "Preempting",
        "Shutdown",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of failed pods that say nothing about the training."""


class Ending(Enum):
    SUCCEEDED = "succeeded"
    FAILED = "failed for good"
    RETRY = "failed, to be tried again"
    LOST = "taken away by the cluster, to be replaced"


def ending(
    policy: RestartPolicy,
    container: str,
    pod: SeenPod,
    retryable: Callable[[int, str], bool] = manner.retryable,
) -> Ending:
    """How a pod that has ended did end. The framework's container decides, whatever the others returned.

    Exit code 0 is a success also in a pod that was evicted afterwards; not so where the container was told to
    stop: many a training saves its state then, and ends with 0 long before its work is done.
    """
    own = _own(container, pod)
    code = own.exit_code if own else None
    if pod.phase == "Succeeded" or (own and code == 0 and not own.cut_off):
        return Ending.SUCCEEDED
    if pod.disrupted or pod.reason in CLUSTERS_DOING:
        return Ending.FAILED if policy is RestartPolicy.NEVER else Ending.LOST
    match policy:
        case RestartPolicy.NEVER:
            return Ending.FAILED
        case RestartPolicy.EXIT_CODE:
            again = own is None or code is None or retryable(code, own.reason)
            return Ending.RETRY if again else Ending.FAILED
        case RestartPolicy.ALWAYS | RestartPolicy.ON_FAILURE:
            return Ending.RETRY


def exit_code(container: str, pod: SeenPod) -> int | None:
    own = _own(container, pod)
    return own.exit_code if own else None


def _own(container: str, pod: SeenPod) -> SeenContainer | None:
    return next((c for c in pod.containers if c.name == container), None)


def count(status: JobStatus, seen: Iterable[tuple[SeenPod, bool]]) -> JobStatus:
    """The status with every restart counted once: those in place, and a pod that failed and will be replaced.

    `seen` pairs each of the job's pods with whether it is to be tried again. Pods that are gone drop out of
    the memory; their restarts stay in the sum.
    """
    total, counted = status.restart_count, {}
    for pod, again in seen:
        before = status.restarts_counted.get(pod.uid, 0)
        now = max(before, pod.restarts + again)
        total += now - before
        if now:
            counted[pod.uid] = now
    if total == status.restart_count and counted == status.restarts_counted:
        return status
    return replace(status, restart_count=total, restarts_counted=counted)


def counted(status: JobStatus, pod: SeenPod) -> bool:
    """Whether the failure of this pod, beyond its restarts in place, is in the count already."""
    return status.restarts_counted.get(pod.uid, 0) > pod.restarts


def over_limit(status: JobStatus, limit: int | None) -> bool:
    """3 fails the job at the third failure, 0 at the first."""
    return limit is not None and status.restart_count >= max(1, limit)
