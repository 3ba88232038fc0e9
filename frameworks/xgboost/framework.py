"""What XGBoost needs from the engine: a master with the tracker, workers, and where they find each other."""

from __future__ import annotations

from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import BY_NAME, Bootstrap, Framework, Role
from trainop.model import Env, Job, Member, Topology


class XGBoostJobSpec(JobSpec):
    """A distributed XGBoost or LightGBM training."""

    replica_specs: dict[str, ReplicaSpec] = Field(
        alias="xgbReplicaSpecs", min_length=1, description="The roles Master and Worker, in any letter case."
    )


def bootstrap(job: Job[XGBoostJobSpec], topology: Topology) -> Bootstrap:
    """Where the master is, for XGBoost's tracker; and where all workers are, for LightGBM, which has none."""
    (master,), workers = topology.roles["Master"], topology.roles.get("Worker", ())
    shared = {
        "MASTER_PORT": str(master.port),
        "MASTER_ADDR": master.host,
        "WORLD_SIZE": str(len(topology)),
    }
    peers = {"PYTHONUNBUFFERED": "1"}
    if workers:
        peers["WORKER_PORT"] = str(workers[0].port)
        peers["WORKER_ADDRS"] = ",".join(worker.host for worker in workers)

    def env(me: Member) -> Env:
        rank = me.index + (1 if me.role == "Worker" else 0)
        return {**shared, "RANK": str(rank), **peers}

    return env


FRAMEWORK = Framework(
    name="xgboost",
    kind="XGBoostJob",
    plural="xgboostjobs",
    short_names=("xgbj",),
    spec=XGBoostJobSpec,
    roles=(Role("Master", decides=1, leads=True, most=1), Role("Worker")),
    container="xgboost",
    port_name="xgboostjob-port",
    port=9999,
    bootstrap=bootstrap,
    env_everywhere=True,
    wording=BY_NAME,
)
