"""MxJobs of 2017 as MXJobs of kubeflow.org/v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainop.manner import Cousin, Modern
from trainop.model import Reading

from ..legacy import modern as common  # noqa: TID252 - what the dialects of all frameworks share lies beside them
from ..legacy.reading import Words  # noqa: TID252 - the same

PORT_NAME = "mxjob-port"
LOCAL = "jobMode local: the worker was told nothing; now it gets a service, and DMLC_* for a cluster of one"
TOLD = "every container of a member gets DMLC_*, and MX_CONFIG and DMLC_WORKER_ID beside it"
WORKERS = (
    "a job whose scheduler has ended with 0 had succeeded, also where a worker had failed; now it has failed"
)
SERVICES = "every member has a service, not the scheduler alone"
WORKER_ENDED = "worker 0 ended the job, unless terminationPolicy said otherwise; now the scheduler does"


def _defaults(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """kubeflow.org/v1alpha1 knew no mode: one worker alone was what `local` is."""
    entries = next(
        (value for key, value in spec.items() if key.replace("_", "").lower() == "replicaspecs"), ()
    )
    types = {
        str(value).upper()
        for entry in entries or ()
        if isinstance(entry, Mapping)
        for key, value in entry.items()
        if key.replace("_", "").lower() == "mxreplicatype"
    }
    return {**common.NOTHING_STAYS, "jobMode": "local" if types <= {"WORKER"} else "dist"}


COUSINS = {"kubeflow.org/v1alpha1 MXJob": Cousin(common.with_defaults(_defaults), (WORKER_ENDED,))}


def modern(words: Words, reading: Reading) -> Modern:
    roles = common.replicas(reading, words, PORT_NAME)
    made = {"jobMode": "MXTrain", "runPolicy": common.policy(reading), words.roles_field: roles}
    lost = [common.EXIT_CODES.format(role="member"), LOCAL if roles.keys() == {"Worker"} else WORKERS]
    return Modern(made, (common.NAMES, common.STATUS, TOLD, SERVICES), tuple(lost))
