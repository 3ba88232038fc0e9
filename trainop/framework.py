"""The contract: what a framework folder says about itself. Data where that suffices, else a pure function.

A folder exports one `FRAMEWORK = Framework(...)` and names it as an entry point of the group
`trainop.frameworks`. Nothing here is overridden, nothing passed in is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

from trainop.api.spec import RestartPolicy
from trainop.manner import Manner
from trainop.model import GVK, Env, Failed, Job, Member, S, Succeeded, Tally, Topology, Undecided, Verdict

Bootstrap = Callable[[Member], Env]
"""The environment of one member. Made once per job by `Framework.bootstrap`, asked once per pod."""

LONGEST_VARIABLE = 128 * 1024
"""Bytes that Linux takes for one environment variable, its name and its end included."""


@dataclass(frozen=True)
class Role:
    name: str
    decides: int | None = None
    """Rank from 1 in deciding the outcome. Of the roles a job has, those with the lowest rank decide."""
    first_if: tuple[str, str] | None = None
    """A field of the spec and its value: where it has that, this role decides before all others."""
    leads: bool = False
    """True: when this role decides, every member is labelled `job-role: master`, not only the first."""
    most: int | None = None
    """How many members of it a job may have; None: as many as any role."""
    served: bool = True
    """Whether its members are spoken to: then each has a service."""


@dataclass(frozen=True)
class Companion(Generic[S]):
    """A pod beside the members, such as a TensorBoard, with a service. It is no part of the training: it decides
    and counts nothing, and is there as long as the job is, whatever becomes of that."""

    name: str
    pod: Callable[[Job[S]], Mapping[str, Any] | None]
    """Its pod template; None where a job wants none. It is restarted whenever it ends."""
    service: Callable[[Job[S]], Mapping[str, Any]]
    """The spec of its service; the engine adds the selector."""
    named: Callable[[Job[S]], str] | None = None
    """What its pod and its service are called; None: as the job, with the companion's name at the end."""


@dataclass(frozen=True)
class Rule(Generic[S]):
    """Something that must hold in a spec, in CEL for the API server and in Python for everybody else."""

    cel: str
    """Over `self`, the job: its spec, and of its metadata the name."""
    holds: Callable[[Job[S]], bool]
    field: str
    """The field to point at, as a path below the spec, such as `.tfReplicaSpecs`."""
    message: str


@dataclass(frozen=True)
class Wording:
    """Sentences that differ between frameworks and that users' tools look for."""

    running: str = "{kind} {namespace}/{name} is running."
    succeeded: str = "{kind} {namespace}/{name} successfully completed."
    failed: str = "{kind} {namespace}/{name} has failed because {count} {role} replica(s) failed."
    invalid: str = "{kind} failed validation because {problems}"


BY_NAME = Wording(
    running="{kind} {name} is running.",
    succeeded="{kind} {name} is successfully completed.",
    failed="{kind} {name} is failed because {count} {role} replica(s) failed.",
)
"""Without the namespace, as most kinds of kubeflow.org/v1 have it."""


def by_deciding_roles(job: Job[Any], tally: Tally) -> Verdict:
    """All members of the deciding roles succeeded: success. Any member failed for good: failure."""
    if tally.deciding and all(tally.roles[role].done for role in tally.deciding):
        return Succeeded()
    return any_failed(tally)


def any_failed(tally: Tally, *, but: str = "") -> Verdict:
    """Failed for the first role, in the framework's order, that has a member failed for good."""
    for role, count in tally.roles.items():
        if count.failed and role != but:
            return Failed(role, len(count.failed))
    return Undecided()


@dataclass(frozen=True, kw_only=True, eq=False)
class Framework(Generic[S]):
    """One of a kind: two are the same only if they are one object."""

    name: str
    """One lower-case word: the value of the `framework` label of metrics."""
    kind: str
    plural: str
    group: str = "kubeflow.org"
    version: str = "v1"
    older_versions: tuple[str, ...] = ()
    """Versions whose jobs are read like those of `version`, in which they are stored."""
    short_names: tuple[str, ...] = ()
    spec: type[S]
    roles: tuple[Role, ...]
    """In the order in which members are made and shown."""
    container: str
    """The container of a member that does the training: its port is the member's, its exit code counts."""
    port_name: str
    port: int
    bootstrap: Callable[[Job[S], Topology], Bootstrap]
    """Takes a job and all its members, gives what each member's environment is."""
    outcome: Callable[[Job[S], Tally], Verdict] = by_deciding_roles
    env_everywhere: bool = False
    """True: every regular container gets the environment, not only `container`."""
    companions: tuple[Companion[S], ...] = ()
    rules: tuple[Rule[S], ...] = ()
    wording: Wording = Wording()
    one_machine: Env = field(default_factory=dict)
    """What members that all run on one machine are told beside that, as with `trainop run`."""
    manner: Manner[S] = field(default_factory=Manner)
    dialects: tuple[Framework[Any], ...] = ()
    """Other kinds for the same trainings, of the same name: each is served under its own group, like any."""

    @cached_property
    def gvk(self) -> GVK:
        return GVK(self.group, self.version, self.kind)

    @property
    def api_versions(self) -> tuple[str, ...]:
        """As users may write them, the one that is stored first."""
        return tuple(f"{self.group}/{version}" for version in (self.version, *self.older_versions))

    @property
    def older(self) -> bool:
        """It is not written as v1 writes jobs: it has a newer namesake, and most people have none of its jobs."""
        return self.manner.read is not None

    @property
    def word(self) -> str:
        """What the kind is called on a command line."""
        return f"{self.kind.lower()}.{self.group}" if self.older else self.kind.lower()

    @cached_property
    def controller(self) -> str:
        """The name under which the framework's controller labels its children and sends events. Namesakes have
        another one each: no service of one's job leads to a pod of the other's."""
        return f"{self.word}-controller"

    @cached_property
    def replicas_field(self) -> str:
        """How users spell the map of roles, such as `tfReplicaSpecs`."""
        return self.spec.model_fields["replica_specs"].alias or "replicaSpecs"

    def companion(self, name: str) -> Companion[S] | None:
        """None: that is the name of a role."""
        return next((companion for companion in self.companions if companion.name == name), None)

    def serves(self, role: str) -> bool:
        """Whether its members have services; a companion has one."""
        return all(known.served for known in self.roles if known.name == role)

    def deciding(self, job: Job[S]) -> tuple[str, ...]:
        """The roles that decide the outcome of the job."""
        if self.manner.chief:
            return tuple(role for role in job.replicas if role == self.manner.chief(job)[0])
        present = [role for role in self.roles if role.decides and role.name in job.replicas]
        ranked = [(0 if _comes_first(role, job) else role.decides or 0, role.name) for role in present]
        return tuple(name for rank, name in ranked if rank == min(ranked)[0])

    def restart_policy(self, job: Job[S], role: str, index: int) -> RestartPolicy:
        """Of one member: that of its role, unless another one decides alone."""
        if self.manner.chief and self.manner.chief(job) != (role, index):
            return RestartPolicy.ON_FAILURE
        return job.replicas[role].restart_policy


def _comes_first(role: Role, job: Job[Any]) -> bool:
    return role.first_if is not None and getattr(job.spec, role.first_if[0]) == role.first_if[1]
