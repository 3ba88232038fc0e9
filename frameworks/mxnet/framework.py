"""What MXNet needs from the engine: roles, MX_CONFIG and DMLC_*, and whose success is the job's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import msgspec
from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import BY_NAME, Bootstrap, Framework, Role, by_deciding_roles
from trainop.model import Env, Failed, Job, Member, Tally, Topology, Verdict

TUNER_KEY = "tuner-server-key"
ONE_MACHINE = {"DMLC_NODE_HOST": "127.0.0.1"}
"""ps-lite looks for a network interface, and a laptop may have none."""


class MXReplicaSpec(ReplicaSpec):
    label: str | None = Field(
        None, description=f"Older spelling of the template's annotation {TUNER_KEY}, which wins."
    )


class MXJobSpec(JobSpec):
    """A distributed MXNet training, or a tuning run of TVM."""

    job_mode: Literal["MXTrain", "MXTune"] = Field(
        description="MXTrain, or MXTune: where there is a Tuner, its end is then the job's."
    )
    replica_specs: Mapping[str, MXReplicaSpec] = Field(
        alias="mxReplicaSpecs",
        min_length=1,
        description=(
            "The roles Scheduler, Server and Worker (MXTrain) or TunerTracker, TunerServer and Tuner "
            "(MXTune), in any letter case."
        ),
    )


def bootstrap(job: Job[MXJobSpec], topology: Topology) -> Bootstrap:
    """MX_CONFIG for those who read the whole cluster, DMLC_* for ps-lite, which asks the scheduler."""
    by_type = {role.lower(): members for role, members in topology.roles.items()}
    cluster = {role: [{"url": m.host, "port": m.port} for m in by_type[role]] for role in sorted(by_type)}
    labels = {role: _tuner_key(job, role) for role in sorted(by_type)}
    shared = f'"cluster":{_json(cluster)},"labels":{_json(labels)}'
    root = next(iter(by_type.get("scheduler", ())), None)

    def env(me: Member) -> Env:
        task = _json({"type": me.role.lower(), "index": me.index})
        variables = {
            "MX_CONFIG": f'{{{shared},"task":{task}}}',
            "DMLC_PS_ROOT_PORT": str(root.port) if root else "0",
            "DMLC_PS_ROOT_URI": root.host if root else "",
            "DMLC_NUM_SERVER": str(len(by_type.get("server", ()))),
            "DMLC_NUM_WORKER": str(len(by_type.get("worker", ()))),
            "DMLC_ROLE": me.role.lower(),
            "DMLC_USE_KUBERNETES": "1",
        }
        if me.role == "Worker":
            variables["DMLC_WORKER_ID"] = str(me.index)
        return variables

    return env


def _tuner_key(job: Job[MXJobSpec], role: str) -> str:
    replica = next(spec for name, spec in job.replicas.items() if name.lower() == role)
    annotations = (replica.template.get("metadata") or {}).get("annotations") or {}
    label = replica.label if isinstance(replica, MXReplicaSpec) else None
    return str(annotations.get(TUNER_KEY) or label or "")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def outcome(job: Job[MXJobSpec], tally: Tally) -> Verdict:
    """The scheduler's success is not enough while a worker has failed for good; a tuner's is."""
    workers = tally.roles.get("Worker")
    if workers and workers.failed and "Tuner" not in tally.deciding:
        return Failed("Worker", len(workers.failed))
    return by_deciding_roles(job, tally)


FRAMEWORK = Framework(
    name="mxnet",
    kind="MXJob",
    plural="mxjobs",
    older_versions=("v1beta1", "v1alpha2"),
    short_names=("mxj",),
    spec=MXJobSpec,
    roles=(
        Role("Scheduler", decides=1, leads=True),
        Role("Server"),
        Role("Worker", decides=2),
        Role("TunerTracker"),
        Role("TunerServer"),
        Role("Tuner", decides=3, first_if=("job_mode", "MXTune")),
    ),
    container="mxnet",
    port_name="mxjob-port",
    port=9091,
    bootstrap=bootstrap,
    env_everywhere=True,
    outcome=outcome,
    one_machine=ONE_MACHINE,
    wording=replace(BY_NAME, failed="mxjob {name} is failed because {count} {role} replica(s) failed."),
)
