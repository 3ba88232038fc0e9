"""Bookkeeping of conditions, rule by rule. kubeflow-v1 §5.12; DECISIONS "terminal state", "what keeps the operator"."""

import pytest
from msgspec.structs import replace

from tests.builders import NOW, a_condition, a_status, later, states
from trainop.api.status import ConditionType, JobStatus
from trainop.engine import conditions

RUNNING, RESTARTING = ConditionType.RUNNING, ConditionType.RESTARTING
SUCCEEDED, FAILED, BLOCKED = ConditionType.SUCCEEDED, ConditionType.FAILED, ConditionType.BLOCKED


def put(status: JobStatus, type_: ConditionType, *, reason: str = "", true: bool = True) -> JobStatus:
    return conditions.put(status, type_, reason or f"TFJob{type_}", "because", later(60), true=true)


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
@pytest.mark.parametrize("type_", list(ConditionType))
def test_a_finished_job_takes_no_new_condition(end: str, type_: ConditionType) -> None:
    """Rule 1, and for Succeeded as well: DECISIONS "terminal state"."""
    status = a_status("Created", end)
    assert put(status, type_, reason="Another") is status


def test_the_same_status_and_reason_again_change_nothing() -> None:
    """Rule 2: neither message nor times are refreshed."""
    status = a_status("Created", "Running")
    assert put(status, RUNNING) is status


def test_a_new_condition_stands_last() -> None:
    """Rule 3: the `State` column shows the last one."""
    assert states(put(a_status("Created", "!Suspended"), RUNNING)) == ["Created", "!Suspended", "Running"]
    assert states(put(a_status("Suspended", "Created"), ConditionType.SUSPENDED, true=False)) == [
        "Created",
        "!Suspended",
    ]


def test_another_reason_keeps_the_time_of_the_transition() -> None:
    """Rule 3."""
    found = put(a_status("Created", "Blocked"), BLOCKED, reason="QuotaExceeded").condition("Blocked")
    assert found is not None
    assert (found.reason, found.last_transition_time, found.last_update_time) == (
        "QuotaExceeded",
        NOW,
        later(60),
    )


def test_another_status_is_a_transition() -> None:
    found = put(a_status("Suspended"), ConditionType.SUSPENDED, true=False).condition("Suspended")
    assert found is not None
    assert (found.status, found.last_transition_time) == ("False", later(60))


@pytest.mark.parametrize("old", ["{}", "!{}"])
@pytest.mark.parametrize(("type_", "other"), [(RUNNING, "Restarting"), (RESTARTING, "Running")])
def test_running_and_restarting_replace_each_other(type_: ConditionType, other: str, old: str) -> None:
    """Rule 4: whatever their status."""
    assert states(put(a_status("Created", old.format(other)), type_)) == ["Created", type_]


@pytest.mark.parametrize("end", [SUCCEEDED, FAILED])
def test_the_end_turns_running_to_false_and_leaves_the_rest_of_it(end: ConditionType) -> None:
    """Rule 5."""
    before = a_condition("Running", message="TFJob ns/mnist is running.")
    after = put(a_status("Created", before), end)
    assert states(after) == ["Created", "!Running", end]
    assert after.condition("Running") == replace(before, status="False")


def test_nothing_else_is_removed_by_the_end() -> None:
    """Rule 6."""
    status = put(a_status("Created", "!Suspended", "Restarting"), FAILED)
    assert states(status) == ["Created", "!Suspended", "Restarting", "Failed"]


def test_being_blocked_is_a_state_and_being_unblocked_is_none() -> None:
    blocked = put(a_status("Created", "Running"), BLOCKED, reason="NameConflict")
    assert states(blocked) == ["Created", "Running", "Blocked"]
    assert states(put(blocked, BLOCKED, reason="Progressing", true=False)) == [
        "!Blocked",
        "Created",
        "Running",
    ]
