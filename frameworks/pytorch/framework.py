"""What PyTorch needs from the engine: roles, the environment of torchrun and torch.distributed, and who decides."""

from __future__ import annotations

from pydantic import Field

from trainop.api.base import ApiModel
from trainop.api.spec import JobSpec, ReplicaSpec, RestartPolicy
from trainop.framework import BY_NAME, Bootstrap, Framework, Role, Rule, by_deciding_roles
from trainop.model import Env, Job, Member, Succeeded, Tally, Topology, Verdict


class PyTorchReplicaSpec(ReplicaSpec):
    restart_policy: RestartPolicy = Field(
        RestartPolicy.ON_FAILURE,
        description="What happens when a member ends: Always, OnFailure (default), Never, or ExitCode.",
    )


class Setting(ApiModel):
    key: str = Field(min_length=1, description="Its name.")
    value: str = Field("", description="Its value.")


class ElasticPolicy(ApiModel):
    """How torchrun brings the workers together, some of which may come and go."""

    min_replicas: int | None = Field(None, strict=True, ge=1, description="Fewest workers; default the most.")
    max_replicas: int | None = Field(None, strict=True, ge=1, description="Most workers; default the fewest.")
    rdzv_backend: str = Field("c10d", min_length=1, description="Where they meet: c10d, etcd or etcd-v2.")
    rdzv_host: str | None = Field(None, description="Host to meet at; default: that of worker 0.")
    rdzv_port: int | None = Field(None, strict=True, ge=1, le=65535, description="Its port; default: theirs.")
    rdzv_id: str | None = Field(None, description="Name of the meeting.")
    rdzv_conf: tuple[Setting, ...] = Field((), description="Settings of the backend.")
    standalone: bool = Field(False, strict=True, description="Each member is a training of its own.")
    n_proc_per_node: int | None = Field(None, strict=True, ge=1, description="Old nprocPerNode, which wins.")
    max_restarts: int | None = Field(None, strict=True, ge=0, description="How often torchrun tries again.")
    metrics: tuple[dict[str, object], ...] = Field((), description="Refused: make the autoscaler yourself.")


class PyTorchJobSpec(JobSpec):
    """A distributed PyTorch training."""

    replica_specs: dict[str, PyTorchReplicaSpec] = Field(
        alias="pytorchReplicaSpecs", min_length=1, description="The roles Master and Worker, in any case."
    )
    nproc_per_node: str | None = Field(
        None, max_length=16, description='Processes of each member, for torchrun: auto (default), gpu, "2"…'
    )
    elastic_policy: ElasticPolicy | None = Field(None, description="For workers that may come and go.")


def bootstrap(job: Job[PyTorchJobSpec], topology: Topology) -> Bootstrap:
    """For torch.distributed the master and a rank, where there is a master; for torchrun PET_*."""
    elastic, each = job.spec.elastic_policy, job.spec.nproc_per_node or ""
    pet = {"PET_NPROC_PER_NODE": each or str((elastic and elastic.n_proc_per_node) or "auto")}
    pet |= _elastic(elastic, topology) if elastic else {"PET_NNODES": str(len(topology))}
    size, where = len(topology) * (int(each) if each.isdecimal() else 1), {}
    for master in topology.roles.get("Master", ()):
        where = {"MASTER_PORT": str(master.port), "PET_MASTER_PORT": str(master.port)}
        where |= {"MASTER_ADDR": master.host, "PET_MASTER_ADDR": master.host, "WORLD_SIZE": str(size)}

    def env(me: Member) -> Env:
        rank = str(me.index + (1 if me.role == "Worker" else 0))
        place = {"RANK": rank, "PET_NODE_RANK": rank} if where else {}
        return {"PYTHONUNBUFFERED": "1"} | where | place | pet

    return env


def _elastic(policy: ElasticPolicy, topology: Topology) -> dict[str, str]:
    """They meet at worker 0, or at the master where it is alone."""
    members = topology.roles.get("Worker") or topology.roles["Master"]
    least = policy.min_replicas or policy.max_replicas or len(members)
    told = {
        "PET_RDZV_ENDPOINT": f"{policy.rdzv_host or members[0].host}:{policy.rdzv_port or members[0].port}",
        "PET_RDZV_BACKEND": policy.rdzv_backend,
        "PET_NNODES": f"{least}:{policy.max_replicas or least}",
        "PET_MAX_RESTARTS": policy.max_restarts,
        "PET_RDZV_ID": policy.rdzv_id,
        "PET_RDZV_CONF": ",".join(f"{each.key}={each.value}" for each in policy.rdzv_conf) or None,
        "PET_STANDALONE": "1" if policy.standalone else None,
    }
    return {name: str(value) for name, value in told.items() if value is not None}


def outcome(job: Job[PyTorchJobSpec], tally: Tally) -> Verdict:
    """The master decides; without one all workers, or the first that ends well where they may come and go."""
    if job.spec.elastic_policy and "Worker" in tally.deciding and tally.roles["Worker"].succeeded:
        return Succeeded()
    return by_deciding_roles(job, tally)


FRAMEWORK = Framework(
    name="pytorch",
    kind="PyTorchJob",
    plural="pytorchjobs",
    short_names=("ptj",),
    spec=PyTorchJobSpec,
    roles=(Role("Master", decides=1, leads=True, most=1), Role("Worker", decides=2)),
    container="pytorch",
    port_name="pytorchjob-port",
    port=23456,
    bootstrap=bootstrap,
    outcome=outcome,
    env_everywhere=True,
    rules=(
        Rule(
            cel="size(self.spec.?elasticPolicy.?metrics.orValue([])) == 0",
            holds=lambda job: not (job.spec.elastic_policy and job.spec.elastic_policy.metrics),
            field=".elasticPolicy.metrics",
            message="no autoscaler is made: make a HorizontalPodAutoscaler for the job, which can be scaled",
        ),
    ),
    wording=BY_NAME,
)
