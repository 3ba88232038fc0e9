"""The nouns of the house. All of them are frozen; none of them knows how to do anything.

job        a user's resource, parsed             member    role + index + address
topology   all members of a job, by role         world     what was seen, at one instant
tally      how the members are doing, by role    verdict   what that means for the job
plan       actions, status, events, wake-up      action    one thing to do, as data
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from trainop.api.spec import JobSpec, ReplicaSpec, RunPolicy
from trainop.api.status import JobStatus

S = TypeVar("S", bound=JobSpec)
Env: TypeAlias = Mapping[str, str]


class GVK(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def is_called(self, word: str) -> bool:
        """KIND or KIND.GROUP, in any letter case."""
        return word.lower() in (self.kind.lower(), f"{self.kind}.{self.group}".lower())


class HostVolume(Struct, frozen=True):
    """A path of the node, such as the libraries of its driver, and where a container finds it."""

    name: str
    mount_path: str
    host_path: str


class Accelerator(Struct, frozen=True):
    """What a container needs that asks for a resource which nodes do not hand out with all its parts."""

    resource: str
    volumes: tuple[HostVolume, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Names and values."""


class Settings(Struct, frozen=True, kw_only=True):
    """What the operator was told about the cluster when it was started."""

    cluster_domain: str = ""
    """Ends the DNS names that members are told, when the cluster has a domain of its own."""
    gang_scheduler: str = ""
    """As the user named it; `engine/gang.py` knows what it means."""
    accelerators: tuple[Accelerator, ...] = ()
    rename_gpu: bool = True
    """Ask nodes for GPUs by the name they have today, whatever a job calls them."""


DEFAULTS = Settings()


class Key(NamedTuple):
    """All that a wake-up carries."""

    gvk: GVK
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.namespace}/{self.name}"


class Problem(NamedTuple):
    """One mistake in a spec: where it stands and what to write instead."""

    path: str
    message: str
    whole: bool = False
    """The message says by itself what it is about."""

    def __str__(self) -> str:
        return self.message if self.whole else f"{self.path}: {self.message}"


class Unknown(NamedTuple):
    """A field that nobody reads."""

    path: str
    known: tuple[str, ...]
    """Those that are read where it stands."""


class Reading(Struct, frozen=True):
    """An object that was brought into another shape."""

    spec: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()
    """What was understood although it is written otherwise than it should be, a sentence each."""
    unknown: tuple[Unknown, ...] = ()
    places: Mapping[str, str] = {}
    """Where it stands in the object what now stands there, by path."""


class Job(Struct, Generic[S], frozen=True, kw_only=True):
    key: Key
    uid: str
    resource_version: str
    generation: int
    deleting: bool
    spec: S
    policy: RunPolicy
    replicas: Mapping[str, ReplicaSpec]
    """By the role's canonical name, in the framework's order; empty when there are problems."""
    status: JobStatus
    annotations: Mapping[str, str] = {}
    created: str = ""
    """As Kubernetes writes times."""
    problems: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()
    """What was understood although it is written otherwise than it should be."""

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def namespace(self) -> str:
        return self.key.namespace


class Member(Struct, frozen=True):
    role: str
    index: int
    name: str
    """Of its pod and of its service."""
    address: str
    """Where it is found from every namespace: the DNS name of its service."""
    port: int
    host: str = ""
    """Where peers of the same namespace find it: the bare name of its service."""


class Topology(Struct, frozen=True):
    roles: Mapping[str, tuple[Member, ...]]
    """Every role of the job in the framework's order, also one without members."""

    def __iter__(self) -> Iterator[Member]:
        for members in self.roles.values():
            yield from members

    def __len__(self) -> int:
        return sum(map(len, self.roles.values()))


class SeenContainer(Struct, frozen=True, gc=False):
    name: str
    exit_code: int | None = None
    reason: str = ""
    cut_off: bool = False
    """It ended only after the cluster had begun to take its pod away: exit code 0 is then no success."""


class Complaint(Struct, frozen=True, gc=False):
    """What the cluster has to say against a pod that has not ended."""

    reason: str
    message: str
    container: str = ""
    """Empty: it is about the pod as a whole."""
    exit_code: int | None = None


class SeenPod(Struct, frozen=True):
    """What the engine looks at in a pod, and nothing more."""

    name: str
    uid: str
    created: datetime
    phase: str = "Pending"
    reason: str = ""
    deleting: bool = False
    disrupted: bool = False
    """Evicted, preempted or its node lost: the cluster's doing, not the job's."""
    restarts: int = 0
    """How often the kubelet restarted its containers in place, native sidecars left out."""
    containers: tuple[SeenContainer, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    role_label: str = ""
    index_label: str = ""
    template: str = ""
    """The fingerprint of what it was made of; empty: that is not known."""

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


class SeenService(Struct, frozen=True):
    name: str
    uid: str
    deleting: bool = False
    role_label: str = ""
    index_label: str = ""


class SeenPodGroup(Struct, frozen=True):
    name: str
    uid: str
    phase: str = ""
    deleting: bool = False
    spec: Mapping[str, Any] = {}
    """As it is stored, fields that are not ours left out."""


class World(Struct, frozen=True, kw_only=True):
    """What a job's own children were at one instant."""

    pods: tuple[SeenPod, ...] = ()
    services: tuple[SeenService, ...] = ()
    pod_group: SeenPodGroup | None = None
    no_pod_groups: str = ""
    """Why the cluster has no PodGroups for us; empty when it has."""
    now: datetime


class RoleTally(Struct, frozen=True):
    replicas: int
    active: int = 0
    succeeded: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    """Members that have failed for good. One that will be restarted is not among them."""

    @property
    def done(self) -> bool:
        return self.replicas > 0 and len(self.succeeded) >= self.replicas


class Tally(Struct, frozen=True):
    roles: Mapping[str, RoleTally]
    """Every role of the job, in the framework's order."""
    deciding: tuple[str, ...]
    """The roles of this job whose end is the job's end."""


class Undecided(Struct, frozen=True):
    pass


class Succeeded(Struct, frozen=True):
    pass


class Failed(Struct, frozen=True):
    role: str
    count: int


Verdict: TypeAlias = Undecided | Succeeded | Failed


class CreatePod(Struct, frozen=True):
    member: Member


class CreateService(Struct, frozen=True):
    member: Member


class DeletePod(Struct, frozen=True):
    role: str
    name: str
    uid: str


class DeleteService(Struct, frozen=True):
    role: str
    name: str
    uid: str


class CreatePodGroup(Struct, frozen=True):
    name: str


class PatchPodGroup(Struct, frozen=True):
    """It is not as the job wants it any more."""

    name: str
    uid: str
    dropped: tuple[str, ...] = ()
    """Resources it asks for and the job does not: a merge patch has to name them."""


class DeletePodGroup(Struct, frozen=True):
    name: str
    uid: str


class StampJob(Struct, frozen=True):
    """The spec lacks what the operator writes into jobs of this kind."""


class DeleteJob(Struct, frozen=True):
    """The job's time to live is over."""


Action: TypeAlias = (
    CreatePod
    | CreateService
    | DeletePod
    | DeleteService
    | CreatePodGroup
    | PatchPodGroup
    | DeletePodGroup
    | StampJob
    | DeleteJob
)


class Event(Struct, frozen=True):
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    story: str = ""
    """Of a state that every pass sees anew, and perhaps in other words: whom it is about. Such an event is told
    once, and again only after a while; empty: whenever it happens."""


class Trouble(NamedTuple):
    """What keeps the operator from making progress with a job."""

    reason: Literal[
        "NameConflict",
        "QuotaExceeded",
        "Forbidden",
        "InvalidTemplate",
        "InvalidSpec",
        "PodGroupUnavailable",
        "OperatorError",
    ]
    message: str


class Plan(Struct, frozen=True, kw_only=True):
    """What to do now. The status is what was seen, never what is about to be done."""

    status: JobStatus
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()
    trouble: Trouble | None = None
    may_wait: float = 0.0
    """Seconds for which the status need not be told: more of the same is about to come."""
    wake_after: float | None = None
    """Seconds until the clock alone can change the answer."""
