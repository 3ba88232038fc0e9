"""The turns a job's life may take: restarts, limits, suspension, the end. kubeflow-v1 §5.6-5.11; DECISIONS as cited."""

from typing import Any

import pytest

from tests.builders import (
    NOW,
    TF,
    Life,
    a_job,
    a_pod,
    a_status,
    a_world,
    doing,
    everyone,
    later,
    states,
    told,
)
from trainop.engine.plan import OTHERS_START, plan

# --- restarts and limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["ExitCode", "OnFailure", "Always"])
def test_a_restart_is_counted_stored_and_then_done(policy: str) -> None:
    life = Life(TF, a_job(TF, Worker=2, restart=policy))
    life.step()
    life.all_run().settle()

    counted = life.see("Worker", 1, "Failed", code=137).step()
    assert doing(counted) == []
    assert counted.status.restart_count == 1
    assert states(counted.status) == ["Created", "Restarting"]
    assert (
        counted.status.conditions[-1].message == "job mnist is restarting because Worker replica(s) failed."
    )
    assert told(counted) == [("Normal", "ExitedWithCode"), ("Warning", "TFJobRestarting")]

    deleted = life.step()
    assert (doing(deleted), told(deleted)) == (["-pod mnist-worker-1"], [])
    assert deleted.status.restart_count == 1

    made = life.step()
    assert doing(made) == ["+pod mnist-worker-1"]
    assert states(made.status) == ["Created", "Running"]
    life.settle()
    assert life.job.status.restart_count == 1
    assert life.job.status.restarts_counted == {}


def test_one_line_for_a_pod_that_restarted_in_place_before_it_failed() -> None:
    life = Life(TF, a_job(TF, Worker=1, restart="OnFailure"))
    life.step()
    life.all_run().see("Worker", 0, "Running", restarts=2).settle()
    answer = life.see("Worker", 0, "Failed", code=1).step()
    assert told(answer) == [("Normal", "ExitedWithCode"), ("Warning", "TFJobRestarting")]
    assert answer.status.restart_count == 3


def test_restarting_lasts_until_the_deciding_role_runs_again() -> None:
    life = Life(TF, a_job(TF, Worker=1, restart="OnFailure"))
    life.step()
    life.all_run().settle()
    life.see("Worker", 0, "Failed", code=1).settle()
    assert life.states == ["Created", "Restarting"]
    life.all_run().settle()
    assert life.states == ["Created", "Running"]


@pytest.mark.parametrize(("limit", "failures"), [(0, 1), (1, 1), (3, 3)])
def test_the_job_fails_at_the_failure_that_reaches_the_limit(limit: int, failures: int) -> None:
    """DECISIONS `backoffLimit`; message of §5.6."""
    life = Life(TF, a_job(TF, Worker=1, PS=1, restart="OnFailure", policy={"backoffLimit": limit}))
    for _ in range(failures):
        life.settle()
        assert not life.job.status.finished
        life.all_run().see("Worker", 0, "Failed", code=1)
    assert life.step().status.restart_count == failures
    answer = life.step()
    assert doing(answer) == []  # the verdict is stored before anything is deleted
    message = "Job mnist has failed because it has reached the specified backoff limit"
    assert [(event.type, event.reason, event.message) for event in answer.events] == [
        ("Normal", "TFJobFailed", message)
    ]
    assert life.states[-1] == "Failed"
    life.settle()
    assert life.pods == ["mnist-worker-0"]  # running pods go, finished ones stay


def test_restarts_in_place_reach_the_limit_too() -> None:
    life = Life(TF, a_job(TF, Worker=1, restart="OnFailure", policy={"backoffLimit": 2}))
    life.step()
    life.all_run().see("Worker", 0, "Running", restarts=1).settle()
    assert life.states == ["Created", "Running"]
    life.see("Worker", 0, "Running", restarts=2).settle()
    assert life.states[-1] == "Failed"


def test_the_active_deadline_is_a_timer_that_fails_the_job() -> None:
    """DECISIONS "deadlines, TTL"; message of §5.7; kubeflow-v1 T1."""
    life = Life(TF, a_job(TF, Worker=1, policy={"activeDeadlineSeconds": 60, "cleanPodPolicy": "None"}))
    assert life.step().wake_after == 60
    life.all_run().settle()
    assert life.at(59).step().wake_after == 1
    answer = life.at(60).step()
    message = "Job mnist has failed because it was active longer than specified deadline"
    assert [(event.reason, event.message) for event in answer.events] == [("TFJobFailed", message)]
    assert (doing(answer), answer.status.completion_time) == ([], later(60))
    life.settle()
    assert life.pods == []


def test_of_two_limits_the_backoff_limit_is_named() -> None:
    """§5.2, step 10: backoff limit, then active deadline."""
    job = a_job(
        TF,
        Worker=1,
        policy={"backoffLimit": 1, "activeDeadlineSeconds": 1},
        status=a_status(start_time=NOW, restart_count=1),
    )
    assert "backoff limit" in plan(TF, job, everyone(job, now=later(9))).events[0].message


def test_a_job_that_succeeds_as_its_time_is_over_has_succeeded() -> None:
    job = a_job(TF, Worker=1, policy={"activeDeadlineSeconds": 1}, status=a_status(start_time=NOW))
    world = everyone(job, "Succeeded", code=0, now=later(9))
    assert states(plan(TF, job, world).status)[-1] == "Succeeded"


# --- suspend and resume: §5.10, DECISIONS "resume" ------------------------------------------------------------


def test_suspend_and_resume() -> None:
    words: Any = {"Worker": 2, "restart": "OnFailure"}
    life = Life(TF, a_job(TF, **words, policy={"activeDeadlineSeconds": 100}))
    life.step()
    life.all_run().see("Worker", 0, "Running", restarts=2).settle()
    life.see("Worker", 1, "Succeeded", code=0).settle()
    assert life.job.status.replica_statuses["Worker"].succeeded_indexes == "1"

    answer = life.at(10).edit(**words, policy={"suspend": True}).step()
    assert states(answer.status) == ["Created", "!Running", "Suspended"]
    assert [(e.type, e.reason, e.message) for e in answer.events] == [
        ("Normal", "TFJobSuspended", "TFJob mnist is suspended.")
    ]
    assert doing(answer) == [
        *("-pod mnist-worker-0", "-service mnist-worker-0"),
        *("-pod mnist-worker-1", "-service mnist-worker-1"),
    ]
    assert answer.status.replica_statuses["Worker"].active == 0
    assert (answer.status.start_time, answer.wake_after) == (NOW, None)
    assert told(life.at(20).step()) == []  # said once, kubeflow-v1 T37

    answer = life.at(30).edit(**words).step()
    assert [(e.type, e.reason, e.message) for e in answer.events] == [
        ("Normal", "TFJobResumed", "TFJob mnist is resumed.")
    ]
    assert answer.status.start_time == later(30)
    life.settle()
    assert life.pods == ["mnist-worker-0", "mnist-worker-1"]  # also the one that had succeeded
    assert life.job.status.restart_count == 0
    life.all_run().settle()
    assert life.states == ["Created", "!Suspended", "Running"]  # §5.12


@pytest.mark.parametrize(
    "left",
    [
        a_pod("Worker", 0, "Succeeded", code=0),
        a_pod("Worker", 0, "Failed", code=1),
        a_pod("Worker", 0, "Running", restarts=9, deleting=True),
    ],
)
def test_what_is_left_of_the_time_before_says_nothing_about_the_job_that_begins_anew(left: Any) -> None:
    job = a_job(TF, Worker=1, policy={"backoffLimit": 1}, status=a_status("Created", "Suspended"))
    answer = plan(TF, job, a_world(left))
    assert states(answer.status) == ["Created", "Suspended"]
    assert doing(answer) == ([] if left.deleting else ["-pod mnist-worker-0"])
    life = Life(TF, job, a_world())
    life.settle()
    assert (life.states, life.pods) == (["Created", "!Suspended"], ["mnist-worker-0"])
    assert life.job.status.restart_count == 0


def test_a_job_suspended_from_birth_has_no_start() -> None:
    answer = plan(TF, a_job(TF, Worker=1, policy={"suspend": True}), a_world())
    assert (doing(answer), states(answer.status)) == ([], ["Created", "Suspended"])
    assert answer.status.start_time is None


def test_a_finished_job_ignores_suspend() -> None:
    job = a_job(TF, Worker=1, policy={"suspend": True}, status=a_status("Created", "Succeeded"))
    assert states(plan(TF, job, a_world()).status) == ["Created", "Succeeded"]


# --- after the end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "stay"),
    [
        ("None", ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]),
        ("Running", ["mnist-worker-0"]),
        ("All", []),
    ],
)
def test_the_verdict_is_stored_before_anything_is_cleaned_up(policy: str, stay: list[str]) -> None:
    """RELIABILITY 1."""
    life = Life(TF, a_job(TF, PS=1, Worker=2, policy={"cleanPodPolicy": policy}))
    life.step()
    life.all_run().settle()
    assert doing(life.see("Worker", 0, "Succeeded", code=0).step()) == []
    life.settle()
    assert life.pods == stay
    assert [service.name for service in life.world.services] == stay


@pytest.mark.parametrize(
    ("policy", "wake_after"),
    [
        ({"cleanPodPolicy": "Running"}, 0),  # a worker still runs
        ({"cleanPodPolicy": "All"}, 0),
        ({"cleanPodPolicy": "None"}, None),
        ({"cleanPodPolicy": "None", "ttlSecondsAfterFinished": 60}, 60),
    ],
)
def test_after_the_verdict_comes_a_pass_only_if_it_has_something_to_do(
    policy: dict[str, Any], wake_after: float | None
) -> None:
    life = Life(TF, a_job(TF, Worker=2, policy=policy))
    life.step()
    life.all_run().settle()
    answer = life.see("Worker", 0, "Succeeded", code=0).step()
    assert answer.status.finished
    assert answer.wake_after == wake_after


def test_the_job_goes_when_its_time_to_live_is_over() -> None:
    """§5.11; a timer, also after an operator restart."""
    status = a_status("Created", "Succeeded", completion_time=NOW)
    job = a_job(TF, Worker=1, policy={"ttlSecondsAfterFinished": 60}, status=status)
    assert plan(TF, job, a_world(now=later(59))).wake_after == 1
    assert doing(plan(TF, job, a_world(now=later(60)))) == ["-job"]


def test_no_pod_is_made_for_a_finished_job() -> None:
    job = a_job(TF, Worker=3, status=a_status("Created", "Failed"))
    assert doing(plan(TF, job, a_world())) == []


def test_an_exit_that_makes_the_job_succeed_is_told_by_the_job_alone() -> None:
    life = Life(TF, a_job(TF, PS=1, Worker=2, spec={"successPolicy": "AllWorkers"}))
    life.settle()
    life.all_run().settle()
    assert told(life.see("Worker", 0, "Succeeded", 0).step()) == [("Normal", "ExitedWithCode")]
    assert told(life.see("Worker", 1, "Succeeded", 0).step()) == [("Normal", "TFJobSucceeded")]


# --- what may wait: a job whose members start one after another -----------------------------------------------


@pytest.mark.parametrize(
    ("worker_0", "worker_1", "ps", "may_wait"),
    [
        ("Pending", "Pending", "Pending", 0),  # that it is created is told at once
        ("Pending", "Pending", "Running", 0),  # nobody who decides runs: no news
        ("Running", "Pending", "Pending", OTHERS_START),
        ("Running", "Running", "Pending", OTHERS_START),
        ("Running", "Running", "Running", 0),  # nobody is waited for
        ("Running", "Succeeded", "Running", 0),
    ],
)
def test_that_a_job_runs_may_wait_a_moment_for_members_that_are_about_to(
    worker_0: str, worker_1: str, ps: str, may_wait: float
) -> None:
    life = Life(TF, a_job(TF, PS=1, Worker=2))
    life.settle()
    ended = {"Succeeded": 0}
    for role, index, phase in (("Worker", 0, worker_0), ("Worker", 1, worker_1), ("PS", 0, ps)):
        life.see(role, index, phase, code=ended.get(phase))
    assert life.step().may_wait == may_wait


def test_what_is_known_already_waits_for_nobody() -> None:
    life = Life(TF, a_job(TF, Worker=2))
    life.settle()
    assert life.see("Worker", 0, "Running").step().may_wait == OTHERS_START
    assert life.step().may_wait == 0, "it is stored that the job runs"


def test_that_a_job_runs_again_may_wait_for_those_that_were_restarted_with_it() -> None:
    life = Life(TF, a_job(TF, Worker=2, restart="OnFailure"))
    life.settle()
    life.all_run().settle()
    life.see("Worker", 0, "Failed", code=1).see("Worker", 1, "Failed", code=1).settle()
    assert life.states == ["Created", "Restarting"]
    assert life.see("Worker", 0, "Running").step().may_wait == OTHERS_START


@pytest.mark.parametrize(("phase", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_a_verdict_waits_for_nobody(phase: str, code: int) -> None:
    life = Life(TF, a_job(TF, PS=1, Worker=2))
    life.settle()
    answer = life.see("Worker", 0, phase, code=code).step()
    assert life.job.status.finished
    assert answer.may_wait == 0


def test_a_restart_that_is_counted_waits_for_nobody() -> None:
    life = Life(TF, a_job(TF, Worker=2, restart="OnFailure"))
    life.settle()
    answer = life.see("Worker", 0, "Failed", code=1).step()
    assert answer.status.restart_count == 1
    assert answer.may_wait == 0
