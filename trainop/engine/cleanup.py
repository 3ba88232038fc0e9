"""What goes when a job has ended, and how children are deleted: each by its UID, a service with its pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainop.api.spec import CleanPodPolicy
from trainop.api.status import ConditionType
from trainop.engine import deadline, restart
from trainop.engine.roster import Place, Roster
from trainop.model import Action, DeletePod, DeleteService, Job


def after_end(job: Job[Any], roster: Roster) -> Iterator[Action]:
    """None keeps all, All keeps nothing, Running keeps what has ended for its logs.

    A service stays only with a pod that stays: whoever finds one left alone by a crash finishes the work.
    """
    policy = job.policy.clean_pod_policy
    if policy is CleanPodPolicy.NONE and not _hit_a_limit(job):
        return
    for place in roster:
        keep = policy is not CleanPodPolicy.ALL and place.pod is not None and place.pod.ended
        if not keep:
            yield from delete(place)


def delete(place: Place) -> Iterator[Action]:
    """Whatever exists of a member and is not on its way out already."""
    if place.pod and not place.pod.deleting:
        yield DeletePod(place.member.role, place.pod.name, place.pod.uid)
    if place.service and not place.service.deleting:
        yield DeleteService(place.member.role, place.service.name, place.service.uid)


def _hit_a_limit(job: Job[Any]) -> bool:
    """A job stopped by a limit has not stopped by itself: what still runs goes under every policy."""
    ended = deadline.ended_at(job.status)
    if ended is None or not job.status.is_true(ConditionType.FAILED):
        return False
    late = deadline.active_left(job, job.status, ended) == 0
    return late or restart.over_limit(job.status, job.policy.backoff_limit)
