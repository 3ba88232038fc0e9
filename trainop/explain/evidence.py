"""What was seen of one job by someone who asks about it: of each object the fields that tell why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from msgspec import Struct

from trainop.engine import roster
from trainop.engine.roster import Roster
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import Job, SeenPod, SeenService, World
from trainop.parse import parse

LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Metadata(Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Waiting(Struct, frozen=True, rename="camel"):
    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True, rename="camel"):
    started_at: datetime | None = None


class Ended(Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class ContainerState(Struct, frozen=True, rename="camel"):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Ended | None = None


class Container(Struct, frozen=True, rename="camel"):
    name: str
    image: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    @property
    def ended(self) -> Ended | None:
        """How it ended: now, or the time before."""
        return self.state.terminated or self.last_state.terminated


class PodCondition(Struct, frozen=True, rename="camel"):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[Container, ...] = ()
    init_container_statuses: tuple[Container, ...] = ()


class PodSpec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    containers: tuple[dict[str, Any], ...] = ()


class Pod(Struct, frozen=True, rename="camel"):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def containers(self) -> tuple[Container, ...]:
        """Init containers first, as they start."""
        return (*self.status.init_container_statuses, *self.status.container_statuses)

    def container(self, name: str) -> Container | None:
        return next((it for it in self.status.container_statuses if it.name == name), None)

    def condition(self, type_: str) -> PodCondition | None:
        return next((it for it in self.status.conditions if it.type == type_), None)


class About(Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    uid: str = ""


class Version(Struct, frozen=True, rename="camel"):
    resource_version: str = "0"


class Event(Struct, frozen=True, rename="camel"):
    involved_object: About
    metadata: Version = Version()
    type: str = "Normal"
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def time(self) -> datetime | None:
        return self.last_timestamp or self.event_time

    @property
    def order(self) -> tuple[datetime, int]:
        """Times are whole seconds, in which much may happen; versions tell what came first."""
        version = self.metadata.resource_version
        return self.time or LONG_AGO, int(version) if version.isdecimal() else 0


class QuotaStatus(Struct, frozen=True, rename="camel"):
    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class Quota(Struct, frozen=True, rename="camel"):
    metadata: Metadata
    status: QuotaStatus = QuotaStatus()


class GroupCondition(Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class GroupSpec(Struct, frozen=True, rename="camel"):
    min_member: int = 0
    queue: str = ""


class GroupStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[GroupCondition, ...] = ()


class PodGroup(Struct, frozen=True, rename="camel"):
    metadata: Metadata
    spec: GroupSpec = GroupSpec()
    status: GroupStatus = GroupStatus()


class NodeStatus(Struct, frozen=True, rename="camel"):
    allocatable: dict[str, str] = {}


class Node(Struct, frozen=True, rename="camel"):
    metadata: Metadata
    status: NodeStatus = NodeStatus()


class Owner(Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""


class OwnedMetadata(Struct, frozen=True, rename="camel"):
    name: str = ""
    owner_references: tuple[Owner, ...] = ()


class Owned(Struct, frozen=True, rename="camel"):
    """Anything, as far as it tells whose it is."""

    metadata: OwnedMetadata


@dataclass(frozen=True, kw_only=True)
class Evidence:
    framework: Framework[Any]
    raw: Mapping[str, Any]
    """The job as it is stored."""
    now: datetime
    pods: tuple[Pod, ...] = ()
    """The job's own; `seen` are the same, as the engine sees them."""
    seen: tuple[SeenPod, ...] = ()
    services: tuple[SeenService, ...] = ()
    events: tuple[Event, ...] = ()
    """About the job and its pods, oldest first."""
    quotas: tuple[Quota, ...] = ()
    group: PodGroup | None = None
    nodes: tuple[Node, ...] = ()
    rival: Owned | None = None
    """What has a name that the job wants for a child."""
    last_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The end of the log of each pod that has failed, by the pod's name."""
    unseen: tuple[str, ...] = ()
    """What could not be read, and why."""
    home: str = ""
    """The directory of a local run; empty: the job is in a cluster."""
    strict: bool = False
    """Mind fields that nobody knows, too: in a file, where they are somebody's slip."""

    @cached_property
    def job(self) -> Job[Any]:
        return parse(self.framework, self.raw, strict=self.strict)

    @cached_property
    def roster(self) -> Roster:
        world = World(pods=self.seen, services=self.services, now=self.now)
        return roster.call(self.framework, self.job, topology(self.framework, self.job), world)

    @property
    def title(self) -> str:
        return str(self.job.key)

    def about(self, name: str, *reasons: str) -> Iterator[Event]:
        """The Warnings about a pod or the job, newest first."""
        told = (
            it for it in reversed(self.events) if it.type == "Warning" and it.involved_object.name == name
        )
        return (it for it in told if not reasons or it.reason in reasons)
