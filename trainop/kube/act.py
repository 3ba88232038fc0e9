"""Doing what a plan says: each action is one API call, many in flight, and safe to repeat.

A create that finds the object there and ours, and a delete that finds nothing, have succeeded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import Any

from msgspec import Struct

from trainop.engine import gang
from trainop.engine.children import Children
from trainop.errors import Conflict, Exists, Gone, Refused, Temporary
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.caches import Caches
from trainop.kube.cluster import Cluster, resource
from trainop.kube.port import PODS, SERVICES, Raw, Resource
from trainop.model import (
    Action,
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    DeleteService,
    Job,
    PatchPodGroup,
    SeenPodGroup,
    StampJob,
    Trouble,
)

MOST_AT_ONCE, MORE_AFTER_EACH = 64, 3
"""Calls in flight, and how many more after each success."""


class Outcome(Struct, frozen=True):
    done: tuple[Action, ...] = ()
    """What was really changed by us, in the order of the plan."""
    trouble: Trouble | None = None
    """What the cluster will not take, whoever asks and however often."""
    error: Temporary | None = None
    """What may well go better the next time."""
    failed: tuple[tuple[Action, str], ...] = ()
    """What the cluster refused, in its words. Users are not told of what may go better at once: a busy API server
    is the operator's worry, and would be one event per try."""


class _Foreign(Exception):
    """The name of a child is taken by something that is not ours."""


async def act(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], actions: Collection[Action]
) -> Outcome:
    if not actions:
        return Outcome()
    planned = sorted(actions, key=lambda action: not isinstance(action, DeletePod | DeleteService))
    if not await _confirmed(cluster, framework, job, planned):
        return Outcome()
    hands = _Hands(cluster, framework, job)
    changed, errors = await _with_slow_start(planned, hands.do)
    lasting = [(action, error, found) for action, error in errors if (found := _trouble(action, error))]
    passing = next(
        (error for _, error in errors if isinstance(error, Temporary) and not _lasting(error)), None
    )
    return Outcome(
        tuple(action for action in planned if action in changed),
        lasting[0][2] if lasting else None,
        passing,
        tuple((action, str(error) or found.message) for action, error, found in lasting),
    )


async def _confirmed(
    cluster: Cluster, framework: Framework[Any], job: Job[Any], actions: Iterable[Action]
) -> bool:
    """Before something is made a second time: is the job still what the plan was made of? A watch may be late
    or have missed its end, and a pod made for a job that is over or gone would run for nothing."""
    makes = CreatePod | CreateService | CreatePodGroup
    again = job.status.start_time and any(isinstance(action, makes) for action in actions)
    if not again:
        return True
    try:
        found = await cluster.api.get(resource(framework), job.namespace, job.name, wire.Service)
    except Gone:
        cluster.jobs.drop(job.key, job.uid)
        return False
    if found.metadata.resource_version != job.resource_version:
        raise Conflict(f"{job.key} has changed since it was looked at")
    return True


class _Hands:
    """The calls for one job."""

    def __init__(self, cluster: Cluster, framework: Framework[Any], job: Job[Any]) -> None:
        self._cluster, self._framework, self._job = cluster, framework, job
        self._children = Children(framework, job, cluster.settings, cluster.placed)

    async def do(self, action: Action) -> bool:
        """Whether this call changed anything."""
        cluster, framework, job = self._cluster, self._framework, self._job
        match action:
            case CreatePod():
                body = self._children.manifest(action)
                return await self._create(PODS, cluster.pods, wire.Pod, body)
            case CreateService():
                body = self._children.manifest(action)
                return await self._create(SERVICES, cluster.services, wire.Service, body)
            case DeletePod(_, name, uid):
                return await self._delete(PODS, cluster.pods, name, uid)
            case DeleteService(_, name, uid):
                return await self._delete(SERVICES, cluster.services, name, uid)
            case CreatePodGroup():
                groups, body = self._groups(), self._children.manifest(action)
                return await self._create(groups.resource, groups, wire.PodGroup, body)
            case PatchPodGroup(name):
                groups, body = self._groups(), gang.patch(gang.needed(cluster.settings), job, action)
                groups.put(await cluster.api.patch(groups.resource, job.namespace, name, body, wire.PodGroup))
                return True
            case DeletePodGroup(name, uid):
                groups = self._groups()
                return await self._delete(groups.resource, groups, name, uid)
            case StampJob():
                return await self._stamp()
            case DeleteJob():
                return await self._delete(resource(framework), None, job.name, job.uid)

    def _groups(self) -> Caches[SeenPodGroup]:
        if self._cluster.pod_groups is None:
            raise AssertionError("a plan without gang scheduling speaks of a PodGroup")
        return self._cluster.pod_groups

    async def _stamp(self) -> bool:
        """What is stored then is known at once: the next pass makes children by it."""
        framework, job = self._framework, self._job
        spec = framework.manner.stamp(job) if framework.manner.stamp else {}
        body = {"metadata": {"resourceVersion": job.resource_version}, "spec": spec}
        stored = await self._cluster.api.patch(
            resource(framework), job.namespace, job.name, body, wire.RawJob
        )
        self._cluster.jobs.put(job.key, stored)
        return True

    async def _create(self, what: Resource, cache: Caches[Any], shape: Any, body: Raw) -> bool:
        job, name, made = self._job, body["metadata"]["name"], True
        cache.expect(job.namespace, name, job.uid)
        try:
            child = await self._cluster.api.create(what, job.namespace, body, shape)
        except Exists:
            made = False
            child = await self._cluster.api.get(what, job.namespace, name, shape)
            owner = child.metadata.owner
            if owner is None or owner.uid != job.uid:
                raise _Foreign from None
        finally:
            cache.expect_no_more(job.namespace, name)
        cache.put(child)
        return made

    async def _delete(self, what: Resource, cache: Caches[Any] | None, name: str, uid: str) -> bool:
        try:
            await self._cluster.api.delete(what, self._job.namespace, name, uid)
        except (Gone, Conflict):
            # Gone, or the name is another object's by now: either way ours is not there any more.
            if cache:
                cache.forget(self._job.namespace, name, uid)
            return False
        if cache:
            cache.mark_deleting(self._job.namespace, name, uid)
        return True


async def _with_slow_start(
    actions: list[Action], do: Callable[[Action], Coroutine[Any, Any, bool]]
) -> tuple[set[Action], list[tuple[Action, Exception]]]:
    """One call, then four at a time, sixteen, up to a limit; none after the first error.

    The first answer tells most: a template that is refused once is refused for every member.
    """
    waiting, changed = deque(actions), set[Action]()
    errors: list[tuple[Action, Exception]] = []
    helpers: list[asyncio.Task[None]] = []

    async def work() -> None:
        while waiting and not errors:
            action = waiting.popleft()
            try:
                if await do(action):
                    changed.add(action)
            except (Temporary, _Foreign) as error:
                errors.append((action, error))
                return
            except Exception:
                waiting.clear()
                raise
            more = min(MORE_AFTER_EACH, MOST_AT_ONCE - 1 - len(helpers), len(waiting) - 1)
            helpers.extend(asyncio.create_task(work()) for _ in range(more))

    try:
        await work()
        for helper in helpers:  # and those whom they have called
            await helper
    finally:
        for helper in helpers:
            helper.cancel()
    return changed, errors


def _lasting(error: Exception) -> bool:
    return isinstance(error, Refused | _Foreign)


def _trouble(action: Action, error: Exception) -> Trouble | None:
    what, refused = _name(action), _verb(action)
    match error:
        case _Foreign():
            message = f"{what} exists and is not this job's: delete or rename it, or rename the job"
            return Trouble("NameConflict", message)
        case Refused(code=403) if "exceeded quota" in str(error):
            return Trouble("QuotaExceeded", f"{what} cannot be {refused}: {error}")
        case Refused(code=403):
            return Trouble("Forbidden", f"{what} cannot be {refused}: {error}")
        case Refused():
            return Trouble("InvalidTemplate", f"{what} cannot be {refused}: {error}")
        case _:
            return None


def _verb(action: Action) -> str:
    match action:
        case CreatePod() | CreateService() | CreatePodGroup():
            return "created"
        case PatchPodGroup() | StampJob():
            return "changed"
        case DeletePod() | DeleteService() | DeletePodGroup() | DeleteJob():
            return "deleted"


def _name(action: Action) -> str:
    match action:
        case CreatePod(member):
            return f"pod {member.name}"
        case CreateService(member):
            return f"service {member.name}"
        case DeletePod(_, name, _):
            return f"pod {name}"
        case DeleteService(_, name, _):
            return f"service {name}"
        case CreatePodGroup(name) | PatchPodGroup(name) | DeletePodGroup(name):
            return f"PodGroup {name}"
        case StampJob() | DeleteJob():
            return "the job"
