"""What TensorFlow needs from the engine: roles, TF_CONFIG, and whose success is the job's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import LONGEST_VARIABLE, Bootstrap, Framework, Role, Rule, any_failed
from trainop.model import Env, Job, Member, RoleTally, Succeeded, Tally, Topology, Verdict

from .tensorboard import NAME_FITS, TENSORBOARD, TensorBoard


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
    tensorboard: TensorBoard | None = Field(
        None, description="A TensorBoard beside the job, in a pod and behind a service NAME-tensorboard."
    )


def bootstrap(job: Job[TFJobSpec], topology: Topology) -> Bootstrap:
    """TF_CONFIG: who is in the cluster, and who of them this member is."""
    if len(topology) == 1:
        return lambda me: {}
    hosts = {role.lower(): [_host(m) for m in members] for role, members in topology.roles.items()}

    def sparse(me: Member) -> Env:
        known: dict[str, Any] = {"worker": {}, "ps": []}
        if me.role == "Worker":
            known = {"worker": {str(me.index): _host(me)}, "ps": hosts.get("ps")}
        elif me.role == "PS":
            known["ps"] = [_host(me)]
        return {"TF_CONFIG": f'{{"cluster":{_json(known)},"task":{_task(me)}}}'}

    return sparse if job.spec.enable_dynamic_worker else tf_config(hosts)


def tf_config(hosts: Mapping[str, list[str]]) -> Bootstrap:
    """The whole cluster, where each type of task has these hosts."""
    cluster = _json(dict(sorted(hosts.items())))
    return lambda me: {"TF_CONFIG": f'{{"cluster":{cluster},"task":{_task(me)},"environment":"cloud"}}'}


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


# The least that a host takes in TF_CONFIG beside the job's name and the role. A rule does not know the namespace,
# the port and the domain: whoever exceeds the limit only with theirs hears so from the operator.
_BESIDE = len('"--0.n.svc:1",')
_REPLICAS = "self.spec.tfReplicaSpecs[r].?replicas.orValue(1)"
_HOSTS = f"{_REPLICAS} * (size(self.metadata.name) + size(r) + {_BESIDE})"
_MORE_DIGITS = f"[10, 100, 1000].map(n, {_REPLICAS} - n).filter(n, n > 0).sum()"


def _short_enough(job: Job[TFJobSpec]) -> bool:
    sizes = (_least_size(job.name, role, spec.replicas) for role, spec in job.replicas.items())
    return job.spec.enable_dynamic_worker or sum(sizes) <= LONGEST_VARIABLE


def _least_size(name: str, role: str, replicas: int) -> int:
    more_digits = sum(max(0, replicas - n) for n in (10, 100, 1000))
    return replicas * (len(name) + len(role) + _BESIDE) + more_digits


FRAMEWORK = Framework(
    name="tensorflow",
    kind="TFJob",
    plural="tfjobs",
    older_versions=("v1beta2", "v1beta1", "v1alpha2"),
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
    companions=(TENSORBOARD,),
    rules=(
        Rule(
            cel="self.spec.tfReplicaSpecs.filter(r, r.lowerAscii() in ['chief', 'master']).size() <= 1",
            holds=_one_chief,
            field=".tfReplicaSpecs",
            message="Chief and Master are two names of one role: keep one of them",
        ),
        Rule(
            cel=(
                "self.spec.?enableDynamicWorker.orValue(false) || "
                f"self.spec.tfReplicaSpecs.map(r, {_HOSTS} + {_MORE_DIGITS}).sum() <= {LONGEST_VARIABLE}"
            ),
            holds=_short_enough,
            field=".tfReplicaSpecs",
            message=(
                f"TF_CONFIG, which lists all members, would have more than {LONGEST_VARIABLE} bytes: "
                "use fewer replicas, or set enableDynamicWorker"
            ),
        ),
        NAME_FITS,
    ),
)
