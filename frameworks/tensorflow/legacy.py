"""TfJob as the first operators took it, of tensorflow.org/v1alpha1 and mlkube.io/v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import Field

from trainop.api.base import ApiModel
from trainop.framework import Bootstrap, Companion, Framework, Role, Wording
from trainop.manner import Manner
from trainop.model import Env, Failed, Job, Reading, Succeeded, Tally, Topology, Undecided, Verdict

from ..legacy import status, ways, writing  # noqa: TID252 - what the dialects of all frameworks share lies beside them
from ..legacy.reading import (  # noqa: TID252 - the same
    CLEANUP,
    LIMITS,
    SCHEDULER,
    Notes,
    Raw,
    Words,
    common,
    containers,
    has_container,
    replicas,
    scheduled,
)
from . import modern, server, tensorboard
from .framework import TFJobSpec, tf_config

IMAGE = "tensorflow/tensorflow:1.3.0"
WORDS = Words(
    container="tensorflow",
    types={"MASTER": "Master", "PS": "PS", "WORKER": "Worker"},
    default="MASTER",
    single="MASTER",
    type_field="tfReplicaType",
    port_fields=("tfPort",),
    port_name="tf-port",
    roles_field="tfReplicaSpecs",
    literal="tfReplicaSpec.TfReplicaType",
    lacking="a container named tensorflow",
    more=("IsDefaultPS",),
)
MISSING_CHIEF = "Missing ReplicaSpec for chief: {type}"
_OWN = ("RuntimeId", "replicaSpecs", "tfImage", "tensorboard", "terminationPolicy", SCHEDULER)
_SPEC = (*_OWN, CLEANUP, *LIMITS)
_TENSORBOARD = ("logDir", "volumes", "volumeMounts", "serviceType", "image")


class Chief(ApiModel):
    role: str = Field("Master", description="Of the member whose end is the job's.")
    index: int = Field(0, strict=True, ge=0, description="Of the same.")


class TfJobSpec(TFJobSpec):
    """A TensorFlow training as the operators of 2017 took it."""

    runtime_id: str = Field("", description="A part of the names of all children.")
    chief: Chief = Field(default_factory=Chief, description="The member whose end is the job's.")


# --- reading ------------------------------------------------------------------------------------------------


def read(raw: Raw) -> Reading:
    """In the shape of a v1 TFJob, and in it who is the chief."""
    notes = Notes()
    spec = notes.fields(raw.get("spec") or {}, _SPEC, "spec")
    chief, image = _chief(notes, spec), notes.text(spec, "tfImage") or IMAGE
    roles = replicas(notes, WORDS, spec, partial(_template, image))
    _check_chief(notes, roles, chief)
    for role, replica in roles.items():
        replica["restartPolicy"] = "ExitCode" if role == chief["role"] else "OnFailure"
    scheduled(notes, spec, roles, WORDS.container)
    shape = common(notes, spec) | {"chief": chief, WORDS.roles_field: roles}
    if "tensorboard" in spec:
        shape["tensorboard"] = _tensorboard(notes, spec["tensorboard"], image)
    return notes.reading(shape)


def write(spec: Raw) -> Raw:
    found = writing.write(WORDS, spec)
    if chief := spec.get("chief"):
        policy = {"replicaName": chief.get("role", "Master").upper(), "replicaIndex": chief.get("index", 0)}
        found["terminationPolicy"] = {"chief": policy}
    return found | ({"tensorboard": spec["tensorboard"]} if "tensorboard" in spec else {})


def _chief(notes: Notes, spec: Raw) -> dict[str, Any]:
    if "terminationPolicy" not in spec:
        return {"role": "Master", "index": 0}
    where = notes.places["spec.terminationPolicy"]
    policy = notes.fields(spec["terminationPolicy"], ("chief",), where)
    if "chief" not in policy:
        notes.wrong(where, "invalid termination policy: it names no chief")
    named = notes.fields(policy.get("chief") or {}, ("replicaName", "replicaIndex"), f"{where}.chief")
    type_ = str(named.get("replicaName", "MASTER")).upper()
    notes.places["spec.chief.index"] = notes.places.get(f"{where}.chief.replicaIndex", where)
    if type_ not in WORDS.types:
        notes.wrong(notes.places[f"{where}.chief.replicaName"], MISSING_CHIEF.format(type=type_))
    return {"role": WORDS.types.get(type_, "Master"), "index": named.get("replicaIndex", 0)}


def _check_chief(notes: Notes, roles: Mapping[str, Raw], chief: Raw) -> None:
    path, type_, index = notes.places[f"spec.{WORDS.roles_field}"], chief["role"].upper(), chief["index"]
    if notes.problems:
        return
    if chief["role"] not in roles:
        notes.wrong(path, MISSING_CHIEF.format(type=type_))
        return
    count = roles[chief["role"]].get("replicas", 1)
    if isinstance(index, int) and isinstance(count, int) and index >= count > 0:
        notes.wrong(
            notes.places["spec.chief.index"], f"invalid termination policy: {type_} has no replica {index}"
        )


def _template(image: str, type_: str, written: Raw) -> Any:
    """A PS that does not say what to run is a plain TensorFlow server. Where `IsDefaultPS` is set, an operator of
    2017 has written one into the template, which needs a ConfigMap that is not there any more."""
    template = written.get("template")
    if type_ != "PS":
        return template
    if not template or written.get("IsDefaultPS"):
        return {"spec": {"containers": [server.container(image)]}}
    spec = (template.get("spec") or {}) if isinstance(template, Mapping) else None
    if not isinstance(spec, Mapping) or has_container(template, WORDS.container):
        return template
    return {**template, "spec": {**spec, "containers": [*containers(template), server.container(image)]}}


def _tensorboard(notes: Notes, written: Any, image: str) -> dict[str, Any]:
    where = notes.places["spec.tensorboard"]
    wanted = notes.fields(written, _TENSORBOARD, where)
    if wanted.get("logDir", "") == "":
        notes.wrong(where, "tbReplicaSpec.LogDir must be specified")
    return {"image": image, **wanted}


# --- what the engine is told --------------------------------------------------------------------------------


def bootstrap(job: Job[TfJobSpec], topology: Topology) -> Bootstrap:
    """TF_CONFIG with bare names, also where there is only one member."""
    hosts = {
        role.lower(): [f"{m.host}:{m.port}" for m in members] for role, members in topology.roles.items()
    }
    return tf_config(hosts)


def outcome(job: Job[TfJobSpec], tally: Tally) -> Verdict:
    """The chief alone decides; who else fails is tried again."""
    role, index = job.spec.chief.role, job.spec.chief.index
    if index in tally.roles[role].succeeded:
        return Succeeded()
    return Failed(role, 1) if index in tally.roles[role].failed else Undecided()


def child_name(job: Job[TfJobSpec], role: str, index: int) -> str:
    return f"{role.lower()}-{ways.runtime_id(job)}-{index}"


def _labels(group: str, job: Job[TfJobSpec], role: str, index: int | None) -> Env:
    found = {group: "", "runtime_id": ways.runtime_id(job)}
    if group == "tensorflow.org":
        found["tf_job_name"] = job.name
    if index is None:
        return found | {"app": "tensorboard"}
    return found | {"job_type": role.upper(), "task_index": str(index)}


def _board_service(job: Job[Any]) -> dict[str, Any]:
    found = tensorboard.service(job)
    return {**found, "ports": [{**port, "name": "tb-port"} for port in found["ports"]]}


def _is_default(job: Job[Any], role: str) -> dict[str, object]:
    """What an operator of 2017 wrote into the spec."""
    replica = job.replicas.get(role)
    return {"IsDefaultPS": bool(replica and server.is_default(replica.template))}


BOARD = Companion[TfJobSpec](
    "TensorBoard", tensorboard.pod, _board_service, named=lambda job: f"tensorboard-{ways.runtime_id(job)}"
)


def _dialect(group: str, version: str) -> Framework[TfJobSpec]:
    return Framework(
        name="tensorflow",
        kind="TfJob",
        plural="tfjobs",
        group=group,
        version=version,
        spec=TfJobSpec,
        roles=(Role("Master", decides=1, leads=True), Role("Worker", decides=2), Role("PS", decides=3)),
        container=WORDS.container,
        port_name=WORDS.port_name,
        port=2222,
        bootstrap=bootstrap,
        outcome=outcome,
        companions=(BOARD,),
        wording=Wording(invalid=ways.INVALID),
        manner=Manner(
            read=read,
            write=write,
            tell=partial(status.tell, "tf_replica_type", more=_is_default),
            recall=partial(status.recall, "TfJob", "tf_replica_type"),
            columns=ways.COLUMNS,
            child_name=child_name,
            labels=partial(_labels, group),
            stamp=ways.stamp,
            retryable=ways.retryable,
            modern=partial(modern.modern, WORDS),
            cousins=modern.COUSINS if group == "tensorflow.org" else {},
            chief=lambda job: (job.spec.chief.role, job.spec.chief.index),
            any_name=True,
            reason=ways.reason,
            source=ways.SOURCE,
        ),
    )


DIALECTS = (_dialect("tensorflow.org", "v1alpha1"), _dialect("mlkube.io", "v1beta1"))
