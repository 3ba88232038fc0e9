"""MxJob as the first operator for MXNet took it, of mlkube.io/v1beta1 and mxnet.mlkube.io/v1beta1."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from trainop.framework import Bootstrap, Framework, Role, Wording
from trainop.manner import Manner
from trainop.model import Env, Job, Member, Reading, Topology

from ..legacy import status, ways, writing  # noqa: TID252 - what the dialects of all frameworks share lies beside them
from ..legacy.reading import (  # noqa: TID252 - the same
    CLEANUP,
    LIMITS,
    SCHEDULER,
    Notes,
    Raw,
    Words,
    common,
    replicas,
    scheduled,
)
from . import modern
from .framework import ONE_MACHINE, MXJobSpec

WORDS = Words(
    container="mxnet",
    types={"SCHEDULER": "Scheduler", "SERVER": "Server", "WORKER": "Worker"},
    default="WORKER",
    single="SCHEDULER",
    type_field="mxReplicaType",
    port_fields=("PsRootPort", "mxPort"),
    port_name="ps-root-port",
    roles_field="mxReplicaSpecs",
    literal="MxReplicaSpec.MxReplicaType",
    lacking="a container for mxnet",
)
_LOCAL = "job mode is local"
_SPEC = ("RuntimeId", "jobMode", "replicaSpecs", SCHEDULER, CLEANUP, *LIMITS)


class MxJobSpec(MXJobSpec):
    """An MXNet training as the operator of 2017 took it."""

    runtime_id: str = Field("", description="A part of the names of all children.")


# --- reading ------------------------------------------------------------------------------------------------


def read(raw: Raw) -> Reading:
    """In the shape of a v1 MXJob. A local one has a worker and nobody else."""
    notes = Notes()
    spec = notes.fields(raw.get("spec") or {}, _SPEC, "spec")
    written = spec.get("replicaSpecs")
    if isinstance(written, list) and None in written:
        notes.wrong(notes.places["spec.replicaSpecs"], "ReplicaSpecs contain nil")
    roles = replicas(notes, WORDS, spec, lambda type_, entry: entry.get("template"))
    _check_mode(notes, spec.get("jobMode", ""), roles)
    for replica in roles.values():
        replica["restartPolicy"] = "ExitCode"
    scheduled(notes, spec, roles, WORDS.container)
    return notes.reading(common(notes, spec) | {"jobMode": "MXTrain", WORDS.roles_field: roles})


def write(spec: Raw) -> Raw:
    alone = spec[WORDS.roles_field].keys() == {"Worker"}
    return {"jobMode": "local" if alone else "dist"} | writing.write(WORDS, spec)


def _check_mode(notes: Notes, mode: Any, roles: Raw) -> None:
    """The literals are those of then, also the misspelt one."""
    where, listed = (
        notes.places.get("spec.jobMode", "spec.jobMode"),
        notes.places[f"spec.{WORDS.roles_field}"],
    )
    if mode not in ("local", "dist"):
        notes.wrong(where, f"unkonw job mode {mode}" if mode else "unkonw job mode: it must be local or dist")
    elif mode == "dist":
        missing = [type_ for type_, role in WORDS.types.items() if role not in roles and not notes.problems]
        for type_ in missing:
            notes.wrong(listed, f"dist job mode without replica type {type_}")
    elif roles.keys() - {"Worker"}:
        notes.wrong(where, f"{_LOCAL}, but its replicas set have replicas type other than worker")
    elif not roles and not notes.problems:
        notes.wrong(listed, f"{_LOCAL}, but it has no worker")
    elif not notes.problems and _several(roles["Worker"].get("replicas", 1)):
        notes.wrong(where, f"{_LOCAL}, but it has more than 1 worker")


def _several(replicas: Any) -> bool:
    return isinstance(replicas, int) and replicas > 1


# --- what the engine is told --------------------------------------------------------------------------------


def bootstrap(job: Job[MxJobSpec], topology: Topology) -> Bootstrap:
    """DMLC_* for ps-lite, where there is somebody to talk to."""
    root = next(iter(topology.roles.get("Scheduler", ())), None)
    if root is None:
        return lambda me: {}
    shared = {
        "DMLC_PS_ROOT_PORT": str(root.port),
        "DMLC_PS_ROOT_URI": root.host,
        "DMLC_NUM_SERVER": str(len(topology.roles.get("Server", ()))),
        "DMLC_NUM_WORKER": str(len(topology.roles.get("Worker", ()))),
    }

    def env(me: Member) -> Env:
        # The last is newer than the kind: without it the scheduler of MXNet 1.9 cannot listen at a name.
        return shared | {"DMLC_ROLE": me.role.lower(), "DMLC_USE_KUBERNETES": "1"}

    return env


def child_name(job: Job[MxJobSpec], role: str, index: int) -> str:
    return f"{job.name}-{role.lower()}-{ways.runtime_id(job)}-{index}"


def _labels(group: str, job: Job[MxJobSpec], role: str, index: int | None) -> Env:
    return {group: "", "runtime_id": ways.runtime_id(job), "job_type": role.upper(), "task_index": str(index)}


def _dialect(group: str) -> Framework[MxJobSpec]:
    return Framework(
        name="mxnet",
        kind="MxJob",
        plural="mxjobs",
        group=group,
        version="v1beta1",
        spec=MxJobSpec,
        roles=(
            Role("Scheduler", decides=1, leads=True),
            Role("Server", served=False),
            Role("Worker", decides=2, served=False),
        ),
        container=WORDS.container,
        port_name=WORDS.port_name,
        port=9091,
        bootstrap=bootstrap,
        wording=Wording(invalid=ways.INVALID),
        one_machine=ONE_MACHINE,
        manner=Manner(
            read=read,
            write=write,
            tell=partial(status.tell, "Mx_replica_type"),
            recall=partial(status.recall, "MxJob", "Mx_replica_type"),
            columns=ways.COLUMNS,
            child_name=child_name,
            labels=partial(_labels, group),
            stamp=ways.stamp,
            retryable=ways.retryable,
            any_name=True,
            reason=ways.reason,
            source=ways.SOURCE,
            modern=partial(modern.modern, WORDS),
            cousins=modern.COUSINS if group == "mxnet.mlkube.io" else {},
        ),
    )


DIALECTS = (_dialect("mlkube.io"), _dialect("mxnet.mlkube.io"))
