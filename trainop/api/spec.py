"""The parts of a job's spec that all frameworks share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from trainop.api.base import ApiModel

MAX_REPLICAS = 10_000
POD_TEMPLATE = "x-trainop-pod-template"
"""Marks the place in a JSON schema where crd.py puts the schema of a pod template."""

# A user's pod template stays opaque: it is handed on as it is, and only engine/pods.py touches it.
PodTemplate = Annotated[dict[str, Any], WithJsonSchema({POD_TEMPLATE: True})]

QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"


def _quantity(given: Any) -> Any:
    if type(given) is int or (isinstance(given, str) and re.fullmatch(QUANTITY, given)):
        return given
    raise PydanticCustomError(
        "quantity", "must be a quantity such as 2, 500m or 1.5Gi, not {given}", {"given": repr(given)}
    )


Quantity = Annotated[
    int | str,
    BeforeValidator(_quantity),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": QUANTITY}]}),
]
OurManager = "kubeflow.org/training-operator"


class RestartPolicy(StrEnum):
    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class CleanPodPolicy(StrEnum):
    NONE = "None"
    RUNNING = "Running"
    ALL = "All"


class SchedulingPolicy(ApiModel):
    """How a gang scheduler should treat the job's pods."""

    min_available: int | None = Field(
        None, strict=True, ge=0, description="Pods that must be placeable before any starts; default: all."
    )
    queue: str | None = Field(None, description="The gang scheduler's queue.")
    min_resources: dict[str, Quantity] | None = Field(
        None, description="Resources the gang needs; default: what its pods request."
    )
    priority_class: str | None = Field(None, description="PriorityClass of the PodGroup.")
    schedule_timeout_seconds: int | None = Field(
        None, strict=True, ge=0, description="How long the scheduler may wait for the whole gang."
    )


class Limits(ApiModel):
    """When a job ends by the clock or by its failures, and what stays behind."""

    clean_pod_policy: CleanPodPolicy | None = Field(
        None,
        description="Pods to delete when the job has ended: those still Running (default), All, or None.",
    )
    ttl_seconds_after_finished: int | None = Field(
        None, strict=True, ge=0, description="Delete the job this long after it ended; unset: never."
    )
    active_deadline_seconds: int | None = Field(
        None,
        strict=True,
        ge=1,
        description="Fail the job when it has been active this long; unset: no limit.",
    )
    backoff_limit: int | None = Field(
        None,
        strict=True,
        ge=0,
        description="Fail the job when its pods have been restarted this often; unset: no limit.",
    )


_LIMITS = tuple(Limits.model_fields)


class RunPolicy(Limits):
    """How the job as a whole is run."""

    scheduling_policy: SchedulingPolicy | None = Field(
        None, description="How a gang scheduler should treat the job's pods."
    )
    suspend: bool = Field(
        False, strict=True, description="True: the job has no pods until this is false again."
    )
    managed_by: Literal["", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"] | None = Field(
        None, description="Who runs this job; unset or kubeflow.org/training-operator: this operator."
    )

    @property
    def ours(self) -> bool:
        return not self.managed_by or self.managed_by == OurManager


class ReplicaSpec(ApiModel):
    """One role of the job: how many members, from which template, and what happens when one ends."""

    replicas: int = Field(
        1, strict=True, ge=0, le=MAX_REPLICAS, description="How many members of this role; default 1."
    )
    restart_policy: RestartPolicy = Field(
        RestartPolicy.NEVER,
        description=(
            "What happens when a member ends: Always, OnFailure, Never (default), or ExitCode: 0 is success; "
            "1-127, 128 and 139 are permanent failures; every other code is retried."
        ),
    )
    template: PodTemplate = Field(description="The pod of each member.")


class JobSpec(Limits):
    """What the specs of all frameworks have in common. A framework names the replica field in its own way."""

    run_policy: RunPolicy = Field(default_factory=RunPolicy, description="How the job as a whole is run.")
    replica_specs: Mapping[str, ReplicaSpec] = Field(min_length=1)

    def effective_policy(self) -> RunPolicy:
        """The run policy with what stands beside it in the old places; `runPolicy` wins."""
        beside = {field: value for field in _LIMITS if (value := getattr(self, field)) is not None}
        beside.setdefault("clean_pod_policy", CleanPodPolicy.RUNNING)
        missing = {it: value for it, value in beside.items() if getattr(self.run_policy, it) is None}
        return self.run_policy.model_copy(update=missing)
