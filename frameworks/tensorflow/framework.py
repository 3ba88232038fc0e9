"""What TensorFlow needs from the engine: roles, TF_CONFIG, and whose success is the job's."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import Bootstrap, Framework, Role, Rule, any_failed
from trainop.model import Env, Job, Member, RoleTally, Succeeded, Tally, Topology, Verdict


class TFJobSpec(JobSpec):
    """A distributed TensorFlow training."""

    replica_specs: dict[str, ReplicaSpec] = Field(
        alias="tfReplicaSpecs",
        min_length=1,
        description="The roles Chief (or Master), PS, Worker and Evaluator, in any letter case.",
    )
    success_policy: Literal["", "AllWorkers"] | None = Field(
        None,
        description="Without a chief: the job succeeds with worker 0 (default), or with AllWorkers.",
    )
    enable_dynamic_worker: bool = Field(
        False,
        strict=True,
        description="Workers may come and go: each knows itself and the PS only, and may fail alone.",
    )


def bootstrap(job: Job[TFJobSpec], topology: Topology) -> Bootstrap:
    """TF_CONFIG: who is in the cluster, and who of them this member is."""
    if len(topology) == 1:
        return lambda me: {}
    hosts = {role.lower(): [_host(m) for m in members] for role, members in topology.roles.items()}
    cluster = _json(dict(sorted(hosts.items())))

    def whole(me: Member) -> Env:
        return {"TF_CONFIG": f'{{"cluster":{cluster},"task":{_task(me)},"environment":"cloud"}}'}

    def sparse(me: Member) -> Env:
        known: dict[str, Any] = {"worker": {}, "ps": []}
        if me.role == "Worker":
            known = {"worker": {str(me.index): _host(me)}, "ps": hosts.get("ps")}
        elif me.role == "PS":
            known["ps"] = [_host(me)]
        return {"TF_CONFIG": f'{{"cluster":{_json(known)},"task":{_task(me)}}}'}

    return sparse if job.spec.enable_dynamic_worker else whole


def _host(member: Member) -> str:
    return f"{member.address}:{member.port}"


def _task(me: Member) -> str:
    return _json({"type": me.role.lower(), "index": me.index})


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def outcome(job: Job[TFJobSpec], tally: Tally) -> Verdict:
    """The chief decides; without one, worker 0, or all workers."""
    if tally.deciding and all(_succeeded(job, role, tally.roles[role]) for role in tally.deciding):
        return Succeeded()
    return any_failed(tally, but="Worker" if job.spec.enable_dynamic_worker and _goes_on(tally) else "")


def _succeeded(job: Job[TFJobSpec], role: str, count: RoleTally) -> bool:
    if role == "Worker" and job.spec.success_policy != "AllWorkers":
        return 0 in count.succeeded
    return count.done


def _goes_on(tally: Tally) -> bool:
    """Whether workers may fail alone: somebody is left whose end decides."""
    workers = tally.roles.get("Worker")
    if workers is None or "Worker" not in tally.deciding:
        return True
    return len(workers.succeeded) + len(workers.failed) < workers.replicas


def _one_chief(job: Job[TFJobSpec]) -> bool:
    return not {"Chief", "Master"} <= set(job.replicas)


FRAMEWORK = Framework(
    name="tensorflow",
    kind="TFJob",
    plural="tfjobs",
    short_names=("tfj",),
    spec=TFJobSpec,
    roles=(
        Role("Chief", decides=1, leads=True),
        Role("Master", decides=1, leads=True),
        Role("PS"),
        Role("Worker", decides=2),
        Role("Evaluator"),
    ),
    container="tensorflow",
    port_name="tfjob-port",
    port=2222,
    bootstrap=bootstrap,
    outcome=outcome,
    rules=(
        Rule(
            cel="self.tfReplicaSpecs.filter(r, r.lowerAscii() in ['chief', 'master']).size() <= 1",
            holds=_one_chief,
            field=".tfReplicaSpecs",
            message="Chief and Master are two names of one role: keep one of them",
        ),
    ),
)
