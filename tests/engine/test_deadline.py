"""What the clock alone decides. DECISIONS "deadlines, TTL": timers, to the second; kubeflow-v1 §5.7, §5.11."""

import pytest

from tests.builders import NOW, TF, a_condition, a_job, a_status, later
from trainop.engine import deadline


@pytest.mark.parametrize(
    ("limit", "after", "left"), [(None, 99, None), (60, 0, 60), (60, 59, 1), (60, 60, 0), (60, 1e9, 0)]
)
def test_the_active_deadline_runs_from_the_start(limit: int | None, after: float, left: float | None) -> None:
    job = a_job(TF, Worker=1, policy={"activeDeadlineSeconds": limit}, status=a_status(start_time=NOW))
    assert deadline.active_left(job, job.status, later(after)) == left


def test_a_job_that_has_not_started_has_no_deadline() -> None:
    job = a_job(TF, Worker=1, policy={"activeDeadlineSeconds": 1})
    assert deadline.active_left(job, job.status, NOW) is None


@pytest.mark.parametrize(
    ("ttl", "after", "left"), [(None, 99, None), (60, 0, 60), (60, 59.5, 0.5), (60, 60, 0), (0, 0, 0)]
)
def test_the_time_to_live_runs_from_the_end(ttl: int | None, after: float, left: float | None) -> None:
    status = a_status("Succeeded", completion_time=NOW)
    job = a_job(TF, Worker=1, policy={"ttlSecondsAfterFinished": ttl}, status=status)
    assert deadline.ttl_left(job, later(after)) == left


def test_where_an_older_operator_forgot_the_completion_time_the_verdict_tells_it() -> None:
    """kubeflow-v1 T8, T14: completionTime nil and a TTL error for ever."""
    job = a_job(
        TF,
        Worker=1,
        policy={"ttlSecondsAfterFinished": 60},
        status=a_status("Created", a_condition("Failed", since=NOW)),
    )
    assert deadline.ttl_left(job, later(10)) == 50


def test_a_job_under_way_has_no_end() -> None:
    assert deadline.ended_at(a_status("Created", "Running", "!Suspended")) is None
