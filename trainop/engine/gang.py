"""Gang scheduling: the PodGroup that lets a job's pods start together or not at all, and waiting for it.

Two schedulers are known, each with a PodGroup of its own: Volcano, which says when pods may be made, and whatever
runs the coscheduling plugin of scheduler-plugins, which holds back pods that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainop import template
from trainop.api.spec import SchedulingPolicy
from trainop.engine import accelerators, labels, quantity
from trainop.model import (
    GVK,
    Action,
    CreatePodGroup,
    DeletePodGroup,
    Job,
    Member,
    PatchPodGroup,
    SeenPodGroup,
    Settings,
    Trouble,
    World,
)

VOLCANO = GVK("scheduling.volcano.sh", "v1beta1", "PodGroup")
PLUGINS = GVK("scheduling.x-k8s.io", "v1alpha1", "PodGroup")
NOT_ADMITTED = ("", "Pending")
"""Phases in which Volcano has not found room for the gang yet."""
MANAGED = ("minMember", "minResources", "priorityClassName", "scheduleTimeoutSeconds")
"""What follows the job in a PodGroup's spec. The queue is chosen once; all else is other people's."""


class Scheduler(Struct, frozen=True):
    name: str
    gvk: GVK
    """Of its PodGroups."""
    rename_gpu: bool = True
    """As in the settings: pods and their PodGroup must ask for the same."""


def scheduler(settings: Settings) -> Scheduler | None:
    """None: no gang scheduling."""
    match settings.gang_scheduler.lower():
        case "" | "none":
            return None
        case "volcano":
            return Scheduler("volcano", VOLCANO, settings.rename_gpu)
        case _:
            return Scheduler(settings.gang_scheduler, PLUGINS, settings.rename_gpu)


def needed(settings: Settings) -> Scheduler:
    """The one whose PodGroup a plan speaks of."""
    found = scheduler(settings)
    if found is None:
        raise AssertionError("a plan without gang scheduling speaks of a PodGroup")
    return found


def ready(settings: Settings, world: World) -> bool:
    """Whether pods and services may be made."""
    gang, group = scheduler(settings), world.pod_group
    if gang is None:
        return True
    if world.no_pod_groups or group is None or group.deleting:
        return False
    return gang.gvk != VOLCANO or group.phase not in NOT_ADMITTED


def tend(settings: Settings, job: Job[Any], world: World) -> Iterator[Action]:
    """The PodGroup of a job that is under way: there, and in step with the job."""
    gang, group = scheduler(settings), world.pod_group
    if gang is None or world.no_pod_groups:
        return
    if group is None:
        yield CreatePodGroup(job.name)
    elif not group.deleting:
        wanted, seen = _managed(gang, job), _resources(group.spec.get("minResources") or {})
        same = {**group.spec, "minResources": seen}
        if any((same.get(field) or None) != (value or None) for field, value in wanted.items()):
            dropped = sorted(seen.keys() - (wanted["minResources"] or {}).keys())
            yield PatchPodGroup(group.name, group.uid, tuple(dropped))


def take_away(group: SeenPodGroup | None) -> Iterator[Action]:
    """Nobody waits for a place any more."""
    if group and not group.deleting:
        yield DeletePodGroup(group.name, group.uid)


def trouble(settings: Settings, world: World) -> Trouble | None:
    gang = scheduler(settings)
    if gang is None or not world.no_pod_groups:
        return None
    product = "Volcano" if gang.gvk == VOLCANO else "scheduler-plugins"
    message = labels.NO_POD_GROUPS.format(
        api=gang.gvk.api_version, why=world.no_pod_groups.rstrip("."), product=product
    )
    return Trouble("PodGroupUnavailable", message)


def manifest(gang: Scheduler, job: Job[Any]) -> dict[str, Any]:
    spec = {field: value for field, value in _managed(gang, job).items() if value is not None}
    if gang.gvk == VOLCANO:
        spec["queue"] = _policy(job).queue or "default"
    metadata = {"name": job.name, "namespace": job.namespace, "ownerReferences": [labels.owner(job)]}
    copied = {key: value for key, value in job.annotations.items() if key != labels.LAST_APPLIED}
    return {
        "apiVersion": gang.gvk.api_version,
        "kind": gang.gvk.kind,
        "metadata": metadata | ({"annotations": copied} if copied else {}),
        "spec": spec,
    }


def patch(gang: Scheduler, job: Job[Any], action: PatchPodGroup) -> dict[str, Any]:
    """A JSON merge patch, for the PodGroup with that UID only."""
    spec = _managed(gang, job)
    if spec["minResources"]:
        spec["minResources"] = dict.fromkeys(action.dropped) | spec["minResources"]
    return {"metadata": {"uid": action.uid}, "spec": spec}


def marked(settings: Settings, job: Job[Any], member: Member, pod: Mapping[str, Any]) -> dict[str, Any]:
    """The pod, known to its gang scheduler. Another scheduler that the template names stays."""
    gang, metadata = scheduler(settings), dict(pod["metadata"])
    if gang is None:
        return dict(pod)
    if gang.gvk == VOLCANO:
        marks = {labels.VOLCANO_GROUP: job.name, labels.VOLCANO_TASK: member.role.lower()}
        metadata["annotations"] = metadata.get("annotations", {}) | marks
    else:
        metadata["labels"] = metadata["labels"] | {labels.POD_GROUP: job.name}
    named = pod["spec"].get("schedulerName") or gang.name
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "schedulerName": named}}


def ignored_by(settings: Settings, spec: Mapping[str, Any]) -> bool:
    """Whether a pod spec names a scheduler that knows nothing of the gang."""
    gang = scheduler(settings)
    return gang is not None and (spec.get("schedulerName") or gang.name) != gang.name


def _policy(job: Job[Any]) -> SchedulingPolicy:
    return job.policy.scheduling_policy or SchedulingPolicy()


def _managed(gang: Scheduler, job: Job[Any]) -> dict[str, Any]:
    """What the job wants of its PodGroup; None where it wants nothing."""
    policy, members = _policy(job), _policy(job).min_available
    if members is None:
        members = sum(replica.replicas for replica in job.replicas.values())
    given = policy.min_resources
    resources = _resources(given) if given is not None else _requested(gang, job, members)
    spec: dict[str, Any] = {"minMember": members, "minResources": resources or None}
    if gang.gvk == VOLCANO:
        return spec | {"priorityClassName": policy.priority_class or None}
    return spec | {"scheduleTimeoutSeconds": policy.schedule_timeout_seconds}


def _resources(given: Mapping[str, Any]) -> dict[str, str]:
    """Canonical, as anything else is rewritten by the first Go program that updates the PodGroup."""
    return {name: quantity.canonical(amount) for name, amount in given.items()}


def _requested(gang: Scheduler, job: Job[Any], members: int) -> dict[str, str]:
    """What the first so many members ask for together, in the order of the roles.

    An amount that cannot be read counts for nothing: the API server will refuse the pod, and say why.
    """
    total: dict[str, quantity.Quantity] = {}
    for replica in job.replicas.values():
        count = min(members, replica.replicas)
        members -= count
        for container in template.containers(replica.template) if count else ():
            asked = accelerators.named(template.requests(container), rename_gpu=gang.rename_gpu)
            for name, written in asked.items():
                if amount := quantity.parse(written):
                    total[name] = total.get(name, quantity.NOTHING).plus(amount, count)
    return {name: str(total[name]) for name in sorted(total)}
