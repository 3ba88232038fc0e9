"""MxJobs of 2017 as MXJobs of kubeflow.org/v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainop.manner import Cousin, Modern
from trainop.model import Reading

from ..legacy import modern as common  # noqa: TID252 - what the dialects of all frameworks share lies beside them
from ..legacy.reading import Words, folded  # noqa: TID252 - the same

Raw = Mapping[str, Any]
PORT_NAME = "mxjob-port"
LOCAL = "jobMode local: the worker was told nothing; now it gets a service, and DMLC_* for a cluster of one"
TOLD = "every container of a member gets DMLC_*, and MX_CONFIG and DMLC_WORKER_ID beside it"
WORKERS = (
    "a job whose scheduler has ended with 0 had succeeded, also where a worker had failed; now it has failed"
)
SERVICES = "every member has a service, not the scheduler alone"
CHIEF = "{type} {index} alone ended the job; now the scheduler does, and any member that fails for good fails the job"


def _is_local(spec: Raw) -> bool:
    """kubeflow.org/v1alpha1 knew no mode: one worker alone was what `local` is."""
    entries = common.written(spec, "replicaSpecs")
    types = {
        str(common.written(entry, "mxReplicaType") or "WORKER").upper()
        for entry in (entries if isinstance(entries, list) else ())
    }
    return types <= {"WORKER"}


def _defaults(spec: Raw) -> Raw:
    return {**common.NOTHING_STAYS, "jobMode": "local" if _is_local(spec) else "dist"}


def _prepared(spec: Raw) -> Raw:
    """Who ended the job is told, and decides nothing any more."""
    kept = {key: value for key, value in spec.items() if folded(str(key)) != "terminationpolicy"}
    return common.with_defaults(_defaults)(kept)


def _lost(spec: Raw) -> tuple[str, ...]:
    """kubeflow.org/v1alpha1 had a chief as TfJobs have one."""
    chief = common.written(common.written(spec, "terminationPolicy"), "chief")
    type_ = str(common.written(chief, "replicaName") or "WORKER").lower()
    index = common.written(chief, "replicaIndex") or 0
    if _is_local(spec):
        return ()
    if (type_, index) == ("scheduler", 0):
        return (WORKERS,)
    return (CHIEF.format(type=type_, index=index),)


COUSINS = {"kubeflow.org/v1alpha1 MXJob": Cousin(_prepared, _lost, (SERVICES, WORKERS))}


def modern(words: Words, reading: Reading) -> Modern:
    roles = common.replicas(reading, words, PORT_NAME)
    made = {"jobMode": "MXTrain", "runPolicy": common.policy(reading), words.roles_field: roles}
    lost = [common.EXIT_CODES.format(role="member"), LOCAL if roles.keys() == {"Worker"} else WORKERS]
    return Modern(made, (common.NAMES, common.STATUS, TOLD, SERVICES), tuple(lost))
