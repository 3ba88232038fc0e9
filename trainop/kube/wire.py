"""The few fields we read from a job's children, as they come over the wire, and how they become what was seen.

Strings that many objects share are interned: thousands of pods have the same few phases, labels and containers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from sys import intern
from typing import Annotated, Any

from msgspec import Meta, Struct

from trainop.engine import gang, labels
from trainop.model import GVK, Key, SeenContainer, SeenPod, SeenPodGroup, SeenService

Moment = Annotated[datetime, Meta(tz=True)]
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


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
    owner_references: tuple[Owner, ...] = ()

    @property
    def owner(self) -> Owner | None:
        """The one that controls the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Terminated(Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    reason: str = ""


class ContainerState(Struct, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, rename="camel"):
    name: str
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodCondition(Struct, frozen=True):
    type: str
    status: str = ""


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Metadata
    status: PodStatus = PodStatus()

    def seen(self) -> SeenPod:
        meta, status = self.metadata, self.status
        return SeenPod(
            name=meta.name,
            uid=meta.uid,
            created=meta.creation_timestamp or _LONG_AGO,
            phase=intern(status.phase),
            reason=intern(status.reason),
            deleting=meta.deletion_timestamp is not None,
            disrupted=any(c.type == "DisruptionTarget" and c.status == "True" for c in status.conditions),
            restarts=sum(
                c.restart_count for c in (*status.container_statuses, *status.init_container_statuses)
            ),
            containers=tuple(_container(c) for c in status.container_statuses),
            role_label=intern(meta.labels.get(labels.REPLICA_TYPE, "")),
            index_label=intern(meta.labels.get(labels.REPLICA_INDEX, "")),
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


def _container(status: ContainerStatus) -> SeenContainer:
    name, ended = intern(status.name), status.state.terminated
    return SeenContainer(name, ended.exit_code, intern(ended.reason)) if ended else SeenContainer(name)
