"""Short words for what tests speak about: a job, its children, a world, and what a cluster makes of a plan.

`a_job(TF, Worker=2)` is a parsed job with two workers; `Worker={"replicas": 2, ...}` says more of a role.
Everything else has a default that no test depends on: a test names what it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from msgspec.structs import replace

from trainop.api.status import Condition, JobStatus, ReplicaStatus
from trainop.engine import gang, roster
from trainop.engine.plan import plan
from trainop.engine.roster import Roster
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import (
    DEFAULTS,
    Action,
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    DeleteService,
    Env,
    Job,
    Member,
    PatchPodGroup,
    Plan,
    SeenContainer,
    SeenPod,
    SeenPodGroup,
    SeenService,
    Settings,
    StampJob,
    Verdict,
    World,
)
from trainop.parse import parse

Raw = dict[str, Any]
NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAME = "mnist"


@cache
def framework(name: str) -> Framework[Any]:
    """The installed framework of that name; nobody imports one."""
    (entry,) = entry_points(group="trainop.frameworks", name=name)
    found: Framework[Any] = entry.load()
    return found


TF = framework("tensorflow")
MX = framework("mxnet")
PT = framework("pytorch")
XGB = framework("xgboost")


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


# --- what a user writes -------------------------------------------------------------------------------------


def a_template(
    container: str = "tensorflow", *, sidecar: str = "", metadata: Any = None, **fields: Any
) -> Raw:
    """A pod template with one container; `fields` are the container's own."""
    containers = [{"name": container, "image": "train:1", **fields}]
    if sidecar:
        containers.append({"name": sidecar, "image": "sidecar:1"})
    spec: Raw = {"spec": {"containers": containers}}
    return spec | ({"metadata": metadata} if metadata is not None else {})


def a_manifest(
    framework: Framework[Any],
    *,
    name: str = NAME,
    metadata: Mapping[str, Any] = {},
    spec: Mapping[str, Any] = {},
    policy: Mapping[str, Any] | None = None,
    restart: str | None = None,
    status: JobStatus | None = None,
    **roles: int | Raw | None,
) -> Raw:
    """A role is a number of replicas, or the fields of a replica spec; `restart` is the policy of all."""
    own: Raw = {"jobMode": "MXTrain"} if framework.kind == "MXJob" else {}
    if policy is not None:
        own["runPolicy"] = dict(policy)
    common: Raw = {"template": a_template(framework.container)} | (
        {"restartPolicy": restart} if restart else {}
    )
    replicas = {
        role: common | (given if isinstance(given, dict) else {"replicas": given})
        for role, given in roles.items()
    }
    return {
        "apiVersion": framework.gvk.api_version,
        "kind": framework.kind,
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": "job-uid",
            "resourceVersion": "1",
            "generation": 1,
        }
        | dict(metadata),
        "spec": own | {framework.replicas_field: replicas} | dict(spec),
        "status": status.wire() if status else {},
    }


def a_job(framework: Framework[Any], **words: Any) -> Job[Any]:
    """The words are those of `a_manifest`."""
    return parse(framework, a_manifest(framework, **words))


def environments(framework: Framework[Any], *, cluster_domain: str = "", **words: Any) -> dict[str, Env]:
    """Of the members of a job without mistakes, by their names."""
    job = a_job(framework, **words)
    assert not job.problems, job.problems
    members = topology(framework, job, cluster_domain)
    environment = framework.bootstrap(job, members)
    return {member.name: environment(member) for member in members}


# --- what an operator has stored ----------------------------------------------------------------------------


def a_condition(type_: str, *, kind: str = "TFJob", since: datetime = NOW, **fields: Any) -> Condition:
    """`Running` is true, `!Running` is false."""
    type_, status = (type_[1:], "False") if type_.startswith("!") else (type_, "True")
    common: Raw = {"reason": kind + type_, "last_update_time": since, "last_transition_time": since}
    return Condition(**{"type": type_, "status": status} | common | fields)


def a_status(*conditions: str | Condition, since: datetime = NOW, **fields: Any) -> JobStatus:
    listed = tuple(c if isinstance(c, Condition) else a_condition(c, since=since) for c in conditions)
    counters = fields.pop("replica_statuses", {})
    roles = {role: ReplicaStatus(**counts) for role, counts in counters.items()}
    return JobStatus(conditions=listed, replica_statuses=roles, **fields)


def states(status: JobStatus) -> list[str]:
    """The conditions in short: `["Created", "!Running", "Succeeded"]`."""
    return [c.type if c.true else f"!{c.type}" for c in status.conditions]


# --- what was seen ------------------------------------------------------------------------------------------


def a_pod(
    role: str,
    index: int,
    phase: str = "Running",
    *,
    code: int | None = None,
    container: str = "tensorflow",
    sidecar_code: int | None = None,
    **fields: Any,
) -> SeenPod:
    """`code` is what the framework's container returned."""
    name, containers = child_name(role, index), [SeenContainer(container, code)]
    if sidecar_code is not None:
        containers.append(SeenContainer("sidecar", sidecar_code))
    common: Raw = {"uid": f"uid-{name}", "created": NOW, "phase": phase, "containers": tuple(containers)}
    return SeenPod(
        **({"name": name, "role_label": role.lower(), "index_label": str(index)} | common | fields)
    )


def a_service(role: str, index: int, **fields: Any) -> SeenService:
    name = child_name(role, index)
    common: Raw = {"name": name, "uid": f"svc-{name}", "role_label": role.lower(), "index_label": str(index)}
    return SeenService(**(common | fields))


def a_world(*children: SeenPod | SeenService, of: Job[Any] | None = None, now: datetime = NOW) -> World:
    """`of` a job: with the service of each of its members."""
    services = [child for child in children if isinstance(child, SeenService)]
    if of is not None:
        services += [a_service(role, i) for role, spec in of.replicas.items() for i in range(spec.replicas)]
    pods = tuple(child for child in children if isinstance(child, SeenPod))
    return World(pods=pods, services=tuple(services), now=now)


def everyone(job: Job[Any], phase: str = "Running", *, now: datetime = NOW, **fields: Any) -> World:
    """All members with pod and service."""
    pods = [
        a_pod(role, i, phase, **fields) for role, spec in job.replicas.items() for i in range(spec.replicas)
    ]
    return a_world(*pods, of=job, now=now)


def a_roster(framework: Framework[Any], job: Job[Any], world: World) -> Roster:
    return roster.call(framework, job, topology(framework, job), world)


def verdict(framework: Framework[Any], *, spec: Mapping[str, Any] = {}, **roles: str) -> Verdict:
    """What the framework makes of its members, a letter each: Running, Succeeded, Failed for good, to be Tried
    again, or `.` for none. `verdict(TF, Chief="S", Worker="RF")`."""
    job = a_job(framework, spec=spec, restart="ExitCode", **{role: len(m) for role, m in roles.items()})
    assert not job.problems, job.problems
    ends = {"R": ("Running", None), "S": ("Succeeded", 0), "F": ("Failed", 1), "T": ("Failed", 137)}
    pods = [
        a_pod(role, i, ends[letter][0], code=ends[letter][1], container=framework.container)
        for role, members in roles.items()
        for i, letter in enumerate(members)
        if letter != "."
    ]
    return framework.outcome(job, roster.tally(framework, job, a_roster(framework, job, a_world(*pods))))


def child_name(role: str, index: int) -> str:
    return f"{NAME}-{role.lower()}-{index}"


# --- what comes of a plan -----------------------------------------------------------------------------------


def doing(answer: Plan | Iterable[Action]) -> list[str]:
    """The actions in short: `["+pod mnist-worker-0", "-service mnist-ps-1", "-job"]`."""
    return [_short(action) for action in (answer.actions if isinstance(answer, Plan) else answer)]


def _short(action: Action) -> str:
    match action:
        case CreatePod(member):
            return f"+pod {member.name}"
        case CreateService(member):
            return f"+service {member.name}"
        case DeletePod(_, name, _):
            return f"-pod {name}"
        case DeleteService(_, name, _):
            return f"-service {name}"
        case CreatePodGroup(name):
            return f"+group {name}"
        case PatchPodGroup(name):
            return f"~group {name}"
        case DeletePodGroup(name):
            return f"-group {name}"
        case StampJob():
            return "~job"
        case DeleteJob():
            return "-job"


def told(answer: Plan) -> list[tuple[str, str]]:
    return [(event.type, event.reason) for event in answer.events]


def stored(job: Job[Any], status: JobStatus) -> Job[Any]:
    """The job as it is read again after its status was written."""
    version = str(int(job.resource_version) + 1)
    return replace(job, status=JobStatus.read(status.wire()), resource_version=version)


def acted(
    job: Job[Any],
    world: World,
    actions: Iterable[Action],
    *,
    graceful: bool = False,
    settings: Settings = DEFAULTS,
) -> World:
    """What a cluster makes of the actions. `graceful`: deleted pods stay for a while, being deleted."""
    pods = {pod.uid: pod for pod in world.pods}
    services = {service.uid: service for service in world.services}
    group, scheduler = world.pod_group, gang.scheduler(settings)
    for number, action in enumerate(actions):
        fresh = f"{job.resource_version}-{number}-{len(pods)}"
        match action:
            case CreatePod(member):
                pod = SeenPod(member.name, f"{member.name}/{fresh}", world.now, **_labels(member))
                pods[pod.uid] = pod
            case CreateService(member):
                service = SeenService(member.name, f"{member.name}/{fresh}", **_labels(member))
                services[service.uid] = service
            case DeletePod(_, _, uid):
                pod = pods.pop(uid)
                if graceful:
                    pods[uid] = replace(pod, deleting=True)
            case DeleteService(_, _, uid):
                del services[uid]
            case CreatePodGroup(name):
                assert scheduler
                group = SeenPodGroup(name, f"{name}/{fresh}", spec=gang.manifest(scheduler, job)["spec"])
            case PatchPodGroup():
                assert scheduler
                assert group
                group = replace(group, spec=gang.manifest(scheduler, job)["spec"])
            case DeletePodGroup():
                group = None
            case StampJob():
                pass  # the job is not in the world
            case DeleteJob():
                return replace(world, pods=(), services=(), pod_group=None)
    return replace(world, pods=tuple(pods.values()), services=tuple(services.values()), pod_group=group)


def _labels(member: Member) -> Any:
    return {"role_label": member.role.lower(), "index_label": str(member.index)}


class Life:
    """A job and its world over time, for a test that tells a story."""

    def __init__(
        self,
        framework: Framework[Any],
        job: Job[Any],
        world: World | None = None,
        settings: Settings = DEFAULTS,
    ) -> None:
        self.framework, self.job, self.world = framework, job, world or a_world()
        self.settings = settings

    def step(self) -> Plan:
        """One pass: the answer, all of it carried out."""
        answer = plan(self.framework, self.job, self.world, self.settings)
        self.world = acted(self.job, self.world, answer.actions, settings=self.settings)
        self.job = stored(self.job, answer.status)
        return answer

    def settle(self, passes: int = 6) -> None:
        for _ in range(passes):
            before = self.job.status
            if not self.step().actions and self.job.status == before:
                return
        raise AssertionError(f"still busy after {passes} passes: {self.step()}")

    def at(self, seconds: float) -> Life:
        self.world = replace(self.world, now=later(seconds))
        return self

    def see(self, role: str, index: int, phase: str, code: int | None = None, **fields: Any) -> Life:
        """The kubelet tells something new about a member's pod."""
        name, containers = child_name(role, index), (SeenContainer(self.framework.container, code),)
        assert any(pod.name == name for pod in self.world.pods), f"{name} has no pod"
        self.world = replace(
            self.world,
            pods=tuple(
                replace(pod, phase=phase, containers=containers, **fields) if pod.name == name else pod
                for pod in self.world.pods
            ),
        )
        return self

    def all_run(self) -> Life:
        self.world = replace(self.world, pods=tuple(replace(pod, phase="Running") for pod in self.world.pods))
        return self

    def edit(self, **words: Any) -> Life:
        """The user writes another spec; the words are those of `a_manifest`."""
        job = a_job(self.framework, **words)
        self.job = replace(
            self.job,
            spec=job.spec,
            policy=job.policy,
            replicas=job.replicas,
            problems=job.problems,
            generation=self.job.generation + 1,
        )
        return self

    @property
    def states(self) -> list[str]:
        return states(self.job.status)

    @property
    def pods(self) -> list[str]:
        return sorted(pod.name for pod in self.world.pods)
