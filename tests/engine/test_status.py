"""The counters of a status. kubeflow-v1 §1.6, §5.3; DECISIONS `selector`, "replicaStatuses after the end"."""

from tests.builders import TF, a_job, a_pod, a_roster, a_status, a_world, everyone
from trainop.api.status import JobStatus
from trainop.engine import status


def test_what_was_seen_is_counted_by_role() -> None:
    job = a_job(TF, PS=1, Worker=7, restart="ExitCode")
    world = a_world(
        a_pod("PS", 0),
        a_pod("Worker", 0, "Succeeded"),
        a_pod("Worker", 1, "Succeeded"),
        a_pod("Worker", 2, "Failed", code=1),
        a_pod("Worker", 3, "Failed", code=137),
        a_pod("Worker", 4, "Failed", reason="Evicted"),
        a_pod("Worker", 5, "Pending"),
        a_pod("Worker", 6, "Running", deleting=True),
        a_pod("Worker", 7, "Running"),
    )
    seen = status.observed(TF, job, JobStatus(), a_roster(TF, job, world))
    worker = seen.replica_statuses["Worker"]
    # Pending counts nowhere (§5.3), and neither does a pod that is going: DECISIONS "pod being deleted".
    assert (worker.active, worker.succeeded, worker.failed, worker.succeeded_indexes) == (0, 2, 3, "0-1")
    assert seen.replica_statuses["PS"].active == 1
    assert seen.progress == "3/8"


def test_the_selector_finds_the_pods_of_the_role() -> None:
    job = a_job(TF, Worker=1)
    assert status.observed(TF, job, JobStatus(), a_roster(TF, job, a_world())).replica_statuses[
        "Worker"
    ].selector == (
        "training.kubeflow.org/job-name=mnist,"
        "training.kubeflow.org/operator-name=tfjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )


def test_a_role_without_replicas_is_counted_as_nothing() -> None:
    job = a_job(TF, PS=0, Worker=1)
    seen = status.observed(TF, job, JobStatus(), a_roster(TF, job, everyone(job)))
    assert (seen.replica_statuses["PS"].active, seen.progress) == (0, "1/1")


def test_after_the_end_active_is_what_still_runs_and_never_becomes_succeeded() -> None:
    """kubeflow-v1 T17; DECISIONS "replicaStatuses after the end"."""
    counts = {"PS": {"active": 2}, "Worker": {"succeeded": 1, "succeeded_indexes": "0"}}
    job = a_job(TF, PS=2, Worker=1, status=a_status("Succeeded", replica_statuses=counts))
    one_left = a_roster(TF, job, a_world(a_pod("PS", 1), a_pod("Worker", 0, "Succeeded")))
    after = status.after_end(job.status, one_left).replica_statuses
    assert (after["PS"].active, after["PS"].succeeded, after["Worker"].succeeded) == (1, 0, 1)


def test_after_the_end_nothing_is_written_when_nothing_changed() -> None:
    job = a_job(TF, PS=1, Worker=1, status=a_status("Succeeded", replica_statuses={"PS": {"active": 1}}))
    assert status.after_end(job.status, a_roster(TF, job, a_world(a_pod("PS", 0)))) is job.status


def test_zeros_are_left_out_when_stored() -> None:
    """§1.6."""
    stored = a_status(replica_statuses={"Worker": {"active": 0, "succeeded": 2}}).wire()
    assert stored == {"replicaStatuses": {"Worker": {"succeeded": 2}}}
