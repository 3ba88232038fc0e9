"""The few fields we read from a job's children, as they come over the wire, and how they become what was seen.

Strings that many objects share are interned: thousands of pods have the same few phases, labels and containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from sys import intern
from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta, Struct

from trainop.engine import gang, labels
from trainop.model import GVK, Complaint, Key, SeenContainer, SeenPod, SeenPodGroup, SeenService

Moment = Annotated[datetime, Meta(tz=True)]
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
LONGEST = 1_024
"""Characters of a message that are kept: an event does not take more, and every pod may have some."""


class Owner(Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False

    def key(self, namespace: str) -> Key:
        group, _, version = self.api_version.rpartition("/")
        return Key(GVK(group, version, self.kind), namespace, self.name)


class Metadata(Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"
    creation_timestamp: Moment | None = None
    deletion_timestamp: Moment | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()

    @property
    def owner(self) -> Owner | None:
        """The one that controls the object."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class JobMetadata(TypedDict, total=False):
    """Without managedFields, which nobody looks at and which make up half of a stored job."""

    name: str
    namespace: str
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
    annotations: dict[str, str]


class RawJob(TypedDict, total=False):
    """A user's job as it is stored: what it says is parse.py's business."""

    metadata: Required[JobMetadata]
    spec: Any
    status: Any


class Waiting(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class Terminated(Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str | None = None
    """Times that are only compared stay text: the API server writes all of them alike."""


class ContainerState(Struct, frozen=True):
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, rename="camel"):
    name: str
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodCondition(Struct, frozen=True, rename="camel"):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class InitContainer(Struct, frozen=True, rename="camel"):
    name: str
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, rename="camel"):
    init_containers: tuple[InitContainer, ...] = ()

    def sidecars(self) -> frozenset[str]:
        """Native ones: init containers that run beside the others as long as these do."""
        return frozenset(c.name for c in self.init_containers if c.restart_policy == "Always")


class Pod(Struct, frozen=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def seen(self) -> SeenPod:
        meta, status, taken = self.metadata, self.status, _disruption(self.status)
        deleting = meta.deletion_timestamp is not None
        return SeenPod(
            name=meta.name,
            uid=meta.uid,
            created=meta.creation_timestamp or _LONG_AGO,
            phase=intern(status.phase),
            reason=intern(status.reason),
            deleting=deleting,
            disrupted=taken is not None,
            restarts=_restarts(self.spec, status),
            containers=tuple(_container(c, taken) for c in status.container_statuses),
            complaints=() if deleting else _complaints(status),
            role_label=intern(meta.labels.get(labels.REPLICA_TYPE, "")),
            index_label=intern(meta.labels.get(labels.REPLICA_INDEX, "")),
            template=intern(meta.annotations.get(labels.TEMPLATE, "")),
        )


class Service(Struct, frozen=True):
    metadata: Metadata

    def seen(self) -> SeenService:
        meta = self.metadata
        return SeenService(
            name=meta.name,
            uid=meta.uid,
            deleting=meta.deletion_timestamp is not None,
            role_label=intern(meta.labels.get(labels.REPLICA_TYPE, "")),
            index_label=intern(meta.labels.get(labels.REPLICA_INDEX, "")),
        )


class PodGroupStatus(Struct, frozen=True):
    phase: str = ""


class PodGroup(Struct, frozen=True):
    metadata: Metadata
    spec: dict[str, Any] = {}
    status: PodGroupStatus = PodGroupStatus()

    def seen(self) -> SeenPodGroup:
        meta = self.metadata
        return SeenPodGroup(
            name=meta.name,
            uid=meta.uid,
            phase=intern(self.status.phase),
            deleting=meta.deletion_timestamp is not None,
            spec={field: self.spec[field] for field in gang.MANAGED if field in self.spec},
        )


def _disruption(status: PodStatus) -> PodCondition | None:
    """Says that the cluster takes the pod away, and since when."""
    for condition in status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            return condition
    return None


def _restarts(spec: PodSpec, status: PodStatus) -> int:
    total = sum(c.restart_count for c in status.container_statuses)
    if status.init_container_statuses:
        sidecars = spec.sidecars()
        total += sum(c.restart_count for c in status.init_container_statuses if c.name not in sidecars)
    return total


def _container(status: ContainerStatus, taken: PodCondition | None) -> SeenContainer:
    name, ended = intern(status.name), status.state.terminated
    if ended is None:
        return SeenContainer(name)
    since = taken.last_transition_time if taken else None
    cut_off = since is not None and (ended.finished_at or "") >= since
    return SeenContainer(name, ended.exit_code, intern(ended.reason), cut_off)


def _complaints(status: PodStatus) -> tuple[Complaint, ...]:
    """Of its containers; of its init containers, for which the others wait; of its newest condition."""
    if status.phase in ("Succeeded", "Failed"):
        return ()
    if status.container_statuses or status.init_container_statuses:
        found = tuple(_of_containers(status.container_statuses))
        return found or tuple(_of_containers(status.init_container_statuses))
    newest = max(status.conditions, key=lambda c: c.last_transition_time or "", default=None)
    if newest is None or newest.status == "True" or not newest.message:
        return ()
    return (Complaint(intern(newest.reason), newest.message[:LONGEST]),)


def _of_containers(statuses: tuple[ContainerStatus, ...]) -> Iterator[Complaint]:
    for status in statuses:
        waiting, ended = status.state.waiting, status.state.terminated
        if ended is not None and ended.exit_code:
            message = ended.message[:LONGEST]
            yield Complaint(intern(ended.reason), message, intern(status.name), ended.exit_code)
        elif waiting is not None and waiting.message:
            yield Complaint(intern(waiting.reason), waiting.message[:LONGEST], intern(status.name))
