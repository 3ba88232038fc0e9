"""What a job tells about itself: v1's conditions and counters, and what a restarted operator must remember."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from trainop.api.base import ApiModel, Time


class ConditionType(StrEnum):
    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    BLOCKED = "Blocked"


class Condition(ApiModel):
    type: str = Field(description="Created, Running, Restarting, Suspended, Succeeded, Failed or Blocked.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field("", description="One CamelCase word for programs.")
    message: str = Field("", description="One sentence for people.")
    last_update_time: Time | None = Field(None, description="When anything in this condition last changed.")
    last_transition_time: Time | None = Field(None, description="When `status` last changed.")

    @property
    def true(self) -> bool:
        return self.status == "True"


class ReplicaStatus(ApiModel):
    active: int = Field(0, description="Members whose pod is running.")
    succeeded: int = Field(0, description="Members that have ended well.")
    failed: int = Field(0, description="Members whose pod has failed.")
    selector: str = Field("", description="Label selector of this role's pods.")
    succeeded_indexes: str = Field(
        "", description="Members that have ended well and never run again, such as 0-2,5."
    )


class JobStatus(ApiModel):
    conditions: tuple[Condition, ...] = Field(
        (), description="What has happened to the job; the last one is its state."
    )
    replica_statuses: dict[str, ReplicaStatus] = Field(default_factory=dict, description="Counters by role.")
    progress: str = Field("", description="Members running or done, of all: 3/4.")
    start_time: Time | None = Field(None, description="When the operator took the job up, or resumed it.")
    completion_time: Time | None = Field(None, description="When the job succeeded or failed.")
    last_reconcile_time: Time | None = Field(None, description="When the operator last wrote this status.")
    observed_generation: int = Field(0, description="The generation of the spec that this status speaks of.")
    restart_count: int = Field(0, description="Restarts that count towards backoffLimit.")
    restarts_counted: dict[str, int] = Field(
        default_factory=dict, description="Restarts already counted for pods that still exist, by pod UID."
    )

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

    def wire(self) -> dict[str, object]:
        """As it is stored: camelCase, empty fields left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
