"""What a job tells about itself: v1's conditions and counters, and what a restarted operator must remember."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from trainop.api.base import Time


def means(text: str) -> Meta:
    return Meta(description=text)


class ConditionType(StrEnum):
    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    BLOCKED = "Blocked"


class _Record(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A part of the status."""

    def wire(self) -> dict[str, object]:
        """As it is stored: camelCase, empty fields left out."""
        told: dict[str, object] = msgspec.json.decode(msgspec.json.encode(self))
        return told


class Condition(_Record, frozen=True):
    type: Annotated[str, means("Created, Running, Restarting, Suspended, Succeeded, Failed or Blocked.")]
    status: Annotated[Literal["True", "False", "Unknown"], means("True, False or Unknown.")]
    reason: Annotated[str, means("One CamelCase word for programs.")] = ""
    message: Annotated[str, means("One sentence for people.")] = ""
    last_update_time: Annotated[Time | None, means("When anything in this condition last changed.")] = None
    last_transition_time: Annotated[Time | None, means("When `status` last changed.")] = None

    @property
    def true(self) -> bool:
        return self.status == "True"


class ReplicaStatus(_Record, frozen=True):
    active: Annotated[int, means("Members whose pod is running.")] = 0
    succeeded: Annotated[int, means("Members that have ended well.")] = 0
    failed: Annotated[int, means("Members whose pod has failed.")] = 0
    selector: Annotated[str, means("Label selector of this role's pods.")] = ""
    succeeded_indexes: Annotated[
        str, means("Members that have ended well and never run again, such as 0-2,5.")
    ] = ""


class JobStatus(_Record, frozen=True):
    conditions: Annotated[
        tuple[Condition, ...], means("What has happened to the job; the last one is its state.")
    ] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus], means("Counters by role.")] = {}
    progress: Annotated[str, means("Members running or done, of all: 3/4.")] = ""
    start_time: Annotated[Time | None, means("When the operator took the job up, or resumed it.")] = None
    completion_time: Annotated[Time | None, means("When the job succeeded or failed.")] = None
    last_reconcile_time: Annotated[Time | None, means("When the operator last wrote this status.")] = None
    observed_generation: Annotated[int, means("The generation of the spec that this status speaks of.")] = 0
    restart_count: Annotated[int, means("Restarts that count towards backoffLimit.")] = 0
    restarts_counted: Annotated[
        dict[str, int], means("Restarts already counted for pods that still exist, by pod UID.")
    ] = {}

    def condition(self, type_: str) -> Condition | None:
        for condition in self.conditions:
            if condition.type == type_:
                return condition
        return None

    def is_true(self, type_: str) -> bool:
        for condition in self.conditions:
            if condition.type == type_:
                return condition.status == "True"
        return False

    @property
    def finished(self) -> bool:
        return self.is_true(ConditionType.SUCCEEDED) or self.is_true(ConditionType.FAILED)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> JobStatus:
        """What `wire` has told; msgspec.ValidationError where that is no status."""
        return msgspec.convert(stored, cls)
