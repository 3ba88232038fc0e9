"""Suspending takes all away, resuming starts anew. kubeflow-v1 §5.10; DECISIONS "resume"."""

from msgspec.structs import replace

from tests.builders import NOW, TF, a_job, a_pod, a_roster, a_service, a_status, a_world, doing, later, states
from trainop.engine import status, suspend

RAN = a_status(
    "Created",
    "Running",
    start_time=NOW,
    restart_count=2,
    restarts_counted={"u": 2},
    replica_statuses={"Worker": {"active": 2, "succeeded": 1, "failed": 1, "succeeded_indexes": "0"}},
)


def test_running_becomes_false_and_suspended_true_and_the_start_stays() -> None:
    job = a_job(TF, Worker=4, status=RAN)
    after = suspend.suspended(TF, job, RAN, later(60))
    assert states(after) == ["Created", "!Running", "Suspended"]
    assert [c.reason for c in after.conditions[1:]] == ["TFJobSuspended", "TFJobSuspended"]
    assert [c.message for c in after.conditions[1:]] == ["TFJob mnist is suspended."] * 2
    assert after.start_time == NOW


def test_suspended_from_birth() -> None:
    """§5.12: `[Created T, Suspended T]`."""
    after = suspend.suspended(TF, a_job(TF, Worker=1), a_status("Created"), NOW)
    assert states(after) == ["Created", "Suspended"]
    assert after.start_time is None


def test_nothing_is_active_and_what_had_ended_stays_on_record() -> None:
    counts = status.idle(a_job(TF, Worker=4), RAN).replica_statuses["Worker"]
    assert (counts.active, counts.succeeded, counts.failed) == (0, 1, 1)


def test_all_pods_and_services_go_also_ended_and_surplus_ones() -> None:
    job = a_job(TF, Worker=2)
    world = a_world(
        a_pod("Worker", 0, "Succeeded"),
        a_pod("Worker", 1, deleting=True),
        a_pod("Worker", 2),
        a_pod("Worker", 9, index_label="odd"),
        a_service("Worker", 0),
    )
    assert doing(suspend.take_away(a_roster(TF, job, world))) == [
        "-pod mnist-worker-0",
        "-service mnist-worker-0",
        "-pod mnist-worker-2",
    ]


def test_resuming_forgets_restarts_and_successes_and_starts_the_clock() -> None:
    before = replace(RAN, conditions=a_status("Created", "!Running", "Suspended").conditions)
    after = suspend.resumed(TF, a_job(TF, Worker=4), before, later(60))
    assert states(after) == ["Created", "!Running", "!Suspended"]
    assert (after.conditions[-1].reason, after.conditions[-1].message) == (
        "TFJobResumed",
        "TFJob mnist is resumed.",
    )
    assert (after.start_time, after.restart_count, after.restarts_counted) == (later(60), 0, {})
    assert after.replica_statuses == {}
