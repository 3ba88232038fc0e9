"""TfJobs of 2017 as TFJobs of kubeflow.org/v1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainop.manner import Cousin, Modern
from trainop.model import Reading

from ..legacy import modern as common  # noqa: TID252 - what the dialects of all frameworks share lies beside them
from ..legacy.reading import Words  # noqa: TID252 - the same

PORT_NAME = "tfjob-port"
ALONE = "a job of one member gets no TF_CONFIG"
OTHERS = "a {role} other than {index} that fails for good fails the job"
CHIEF = "terminationPolicy: {role} {index} ended the job; now {decider} does"
COUSINS = {
    "tensorflow.org/v1alpha1 TFJob": Cousin(lambda spec: spec),
    "kubeflow.org/v1alpha1 TFJob": Cousin(common.with_defaults(lambda spec: common.NOTHING_STAYS)),
}


def modern(words: Words, reading: Reading) -> Modern:
    spec, roles = reading.spec, common.replicas(reading, words, PORT_NAME)
    made = {"runPolicy": common.policy(reading), words.roles_field: roles}
    if "tensorboard" in spec:
        made["tensorboard"] = spec["tensorboard"]
    changed = [common.NAMES, common.STATUS, "TF_CONFIG has the full names of services"]
    if "tensorboard" in spec:
        changed.append("the TensorBoard is called JOB-tensorboard")
    return Modern(made, tuple(changed), tuple(_lost(roles, spec["chief"])))


def _lost(roles: Mapping[str, Any], chief: Mapping[str, Any]) -> Iterator[str]:
    role, index = chief["role"], chief["index"]
    yield common.EXIT_CODES.format(role=role.lower())
    decider = "Master" if "Master" in roles else "Worker"
    if (role, index) != (decider, 0):
        yield CHIEF.format(role=role.lower(), index=index, decider=f"{decider.lower()} 0")
    if roles[role].get("replicas", 1) > 1:
        yield OTHERS.format(role=role.lower(), index=index)
    if sum(replica.get("replicas", 1) for replica in roles.values()) == 1:
        yield ALONE
