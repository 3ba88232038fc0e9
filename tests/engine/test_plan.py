"""The questions in their order, and the life of a job. ARCHITECTURE "plan() asks"; kubeflow-v1 §5, §6; DECISIONS."""

from typing import Any

import pytest

from tests.builders import (
    MX,
    NOW,
    TF,
    Life,
    a_job,
    a_pod,
    a_service,
    a_template,
    a_world,
    doing,
    everyone,
    later,
    states,
    told,
)
from trainop.engine.plan import plan
from trainop.framework import Framework
from trainop.model import Settings

CREATED = "+pod mnist-worker-0", "+service mnist-worker-0"


# --- the life of a plain job ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("framework", "running", "succeeded"),
    [
        (TF, "TFJob ns/mnist is running.", "TFJob ns/mnist successfully completed."),
        (MX, "MXJob mnist is running.", "MXJob mnist is successfully completed."),
    ],
)
def test_the_life_of_a_plain_job(framework: Framework[Any], running: str, succeeded: str) -> None:
    """§5.12 "Typical lists", §6.1, §6.2."""
    kind, life = framework.kind, Life(framework, a_job(framework, Worker=1))

    first = life.step()
    assert doing(first) == [*CREATED]
    assert told(first) == []
    assert states(first.status) == ["Created"]
    assert first.status.conditions[0].reason == f"{kind}Created"
    assert first.status.conditions[0].message == f"{kind} mnist is created."
    assert (first.status.start_time, first.status.progress) == (NOW, "0/1")
    assert first.status.observed_generation == 1

    life.settle()
    life.all_run().at(5)
    second = life.step()
    assert (doing(second), told(second)) == ([], [])
    assert states(second.status) == ["Created", "Running"]
    assert second.status.conditions[1].reason == f"{kind}Running"
    assert second.status.conditions[1].message == running
    assert (second.status.start_time, second.status.progress) == (NOW, "1/1")

    life.settle()
    third = life.see("Worker", 0, "Succeeded", code=0).at(9).step()
    assert doing(third) == []
    assert told(third) == [("Normal", f"{kind}Succeeded")]
    assert [event.message for event in third.events] == [
        succeeded,
    ]
    assert states(third.status) == ["Created", "!Running", "Succeeded"]
    assert third.status.completion_time == later(9)
    assert third.status.replica_statuses["Worker"].succeeded == 1

    life.at(99).settle()
    assert life.pods == ["mnist-worker-0"]  # finished pods stay for their logs
    assert life.job.status.completion_time == later(9)


def test_a_fast_job_never_runs() -> None:
    """§5.12: `[Created T, Succeeded T]`."""
    life = Life(TF, a_job(TF, Worker=1))
    life.step()
    life.see("Worker", 0, "Succeeded", code=0).settle()
    assert life.states == ["Created", "Succeeded"]


def test_running_is_when_the_deciding_role_runs() -> None:
    """§5.8: with a chief, workers do not matter for Running."""
    job = a_job(TF, Chief=1, Worker=1)
    world = a_world(a_pod("Worker", 0), a_pod("Chief", 0, "Pending"), of=job)
    assert states(plan(TF, job, world).status) == ["Created"]
    assert states(plan(TF, job, everyone(job)).status) == ["Created", "Running"]


def test_a_job_that_failed() -> None:
    """§5.8, §6.1: completionTime, Failed, one event."""
    life = Life(TF, a_job(TF, PS=1, Worker=2))
    life.step()
    life.all_run().settle()
    answer = life.see("Worker", 1, "Failed", code=1).at(7).step()
    assert (doing(answer), states(answer.status)) == ([], ["Created", "!Running", "Failed"])
    assert told(answer) == [("Normal", "ExitedWithCode"), ("Normal", "TFJobFailed")]
    assert answer.events[1].message == "TFJob ns/mnist has failed because 1 Worker replica(s) failed."
    assert answer.status.conditions[-1].message == answer.events[1].message
    assert answer.status.completion_time == later(7)
    life.settle()
    assert life.pods == ["mnist-worker-1"]  # what still ran is gone, the failed one stays for its logs


def test_success_of_the_deciding_role_comes_before_failure() -> None:
    """DECISIONS "terminal state"; kubeflow-v1 T6."""
    job = a_job(TF, Chief=1, Worker=1)
    world = a_world(a_pod("Chief", 0, "Succeeded", code=0), a_pod("Worker", 0, "Failed", code=1), of=job)
    assert states(plan(TF, job, world).status) == ["Created", "Succeeded"]


def test_every_creation_is_warned_of_once_per_role() -> None:
    template = a_template(env=[{"name": "TF_CONFIG", "value": "mine"}])
    template["spec"]["restartPolicy"] = "Always"
    answer = plan(TF, a_job(TF, PS=1, Worker={"replicas": 3, "template": template}), a_world())
    assert told(answer) == [
        ("Warning", "SettedPodTemplateRestartPolicy"),
        ("Warning", "OverwroteEnvironment"),
    ]


# --- missing, lost and surplus members ------------------------------------------------------------------------


def test_a_service_that_is_missing_is_made_again() -> None:
    job = a_job(TF, Worker=1)
    assert doing(plan(TF, job, a_world(a_pod("Worker", 0)))) == ["+service mnist-worker-0"]


def test_a_child_on_its_way_out_is_replaced_only_when_it_is_gone() -> None:
    """DECISIONS "pod being deleted": a replacement starts only when the old pod is gone."""
    job = a_job(TF, Worker=1)
    world = a_world(a_pod("Worker", 0, deleting=True), a_service("Worker", 0, deleting=True))
    answer = plan(TF, job, world)
    assert (doing(answer), states(answer.status)) == ([], ["Created"])
    assert doing(plan(TF, job, a_world())) == [*CREATED]


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "ExitCode", "Never"])
def test_a_deleted_pod_is_no_failure_whatever_phase_it_passes(policy: str) -> None:
    life = Life(TF, a_job(TF, Worker=1, restart=policy))
    life.step()
    life.all_run().settle()
    life.see("Worker", 0, "Failed", code=143, deleting=True).settle()
    assert life.states == ["Created", "Running"]
    assert life.job.status.restart_count == 0


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "ExitCode"])
def test_an_evicted_pod_is_replaced_and_not_counted(policy: str) -> None:
    """DECISIONS "evicted …" and "Evictions, preemptions, lost nodes and deletions are not counted"."""
    life = Life(TF, a_job(TF, Worker=1, restart=policy, policy={"backoffLimit": 0}))
    life.step()
    life.all_run().settle()
    answer = life.see("Worker", 0, "Failed", reason="Evicted").step()
    assert doing(answer) == ["-pod mnist-worker-0"]
    life.settle()
    assert (life.pods, life.job.status.restart_count) == (["mnist-worker-0"], 0)
    assert not life.job.status.finished


def test_an_evicted_pod_under_never_fails_the_job() -> None:
    job = a_job(TF, Worker=1)
    answer = plan(TF, job, a_world(a_pod("Worker", 0, "Failed", reason="Evicted"), of=job))
    assert states(answer.status) == ["Created", "Failed"]


def test_a_succeeded_member_is_not_run_again_when_its_pod_is_deleted() -> None:
    """DECISIONS "succeeded members"; kubeflow-v1 T16."""
    life = Life(TF, a_job(TF, Worker=2, spec={"successPolicy": "AllWorkers"}))
    life.step()
    life.all_run().see("Worker", 1, "Succeeded", code=0).settle()
    life.world = a_world(a_pod("Worker", 0), a_service("Worker", 0))
    assert doing(life.step()) == []
    assert life.job.status.replica_statuses["Worker"].succeeded_indexes == "1"


def test_scaling_up_makes_the_new_members_and_down_removes_the_last() -> None:
    """§5.3, §5.4."""
    life = Life(TF, a_job(TF, Worker=2))
    life.step()
    life.all_run().settle()
    assert doing(life.edit(Worker=4).step()) == [
        *("+pod mnist-worker-2", "+service mnist-worker-2", "+pod mnist-worker-3", "+service mnist-worker-3")
    ]
    assert life.job.status.observed_generation == 2
    life.all_run().settle()
    assert doing(life.edit(Worker=1).step()) == [
        *("-pod mnist-worker-3", "-service mnist-worker-3"),
        *("-pod mnist-worker-2", "-service mnist-worker-2"),
        *("-pod mnist-worker-1", "-service mnist-worker-1"),
    ]
    life.settle()
    assert (life.pods, life.job.status.progress) == (["mnist-worker-0"], "1/1")


def test_a_gap_below_a_surplus_member_is_not_filled() -> None:
    """kubeflow-v1 T4, T43."""
    job = a_job(TF, Worker=1)
    world = a_world(a_pod("Worker", 0), a_pod("Worker", 3), of=job)
    assert doing(plan(TF, job, world)) == ["-pod mnist-worker-3"]


def test_a_role_without_replicas_gets_nothing() -> None:
    """DECISIONS `replicas: 0`; kubeflow-v1 T3."""
    assert doing(plan(TF, a_job(TF, PS=0, Worker=1), a_world())) == [*CREATED]


# --- not ours to touch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        {"metadata": {"deletionTimestamp": "2024-05-01T12:00:00Z"}},
        {"policy": {"managedBy": "kueue.x-k8s.io/multikueue"}},
        {"policy": {"managedBy": "kueue.x-k8s.io/multikueue"}, "Wroker": 1},
        {"policy": {"managedBy": "somebody-else"}},
    ],
)
def test_a_job_that_is_going_or_somebody_elses_is_left_alone(words: dict[str, Any]) -> None:
    """DECISIONS `managedBy`; §5.2 step 3."""
    job = a_job(TF, Worker=1, **words)
    answer = plan(TF, job, a_world(a_pod("Worker", 5), now=later(1e6)))
    assert answer.status is job.status
    assert (answer.actions, answer.events, answer.wake_after) == ((), (), None)


@pytest.mark.parametrize("manager", [None, "", "kubeflow.org/training-operator"])
def test_a_job_of_ours_is_ours(manager: str | None) -> None:
    """DECISIONS `managedBy`: empty counts as unset."""
    assert doing(plan(TF, a_job(TF, Worker=1, policy={"managedBy": manager}), a_world())) == [*CREATED]


# --- a spec that cannot be right ------------------------------------------------------------------------------


def test_a_bad_spec_fails_the_job_with_every_field_path() -> None:
    """DECISIONS "validation"; §6.1 `TFJobFailedValidation`; `MXJobFailedValidation` is right for MXJob."""
    for framework in (TF, MX):
        job = a_job(framework, name="Bad", Cook=1)
        answer = plan(framework, job, a_world())
        (event,) = answer.events
        assert (event.type, event.reason) == ("Warning", f"{framework.kind}FailedValidation")
        assert event.message.startswith(f"{framework.kind} failed validation because ")
        assert all(str(problem) in event.message for problem in job.problems)
        assert len(job.problems) >= 2
        assert states(answer.status) == ["Created", "Failed"]
        assert answer.status.conditions[-1].message == event.message
        assert answer.status.completion_time == NOW
        assert answer.status.observed_generation == 1


def test_an_edit_that_cannot_be_right_is_told_and_leaves_a_job_that_runs_alone() -> None:
    """Nor does a spec that the v1 operator took end a job at its take-over."""
    life = Life(TF, a_job(TF, Worker=2))
    life.step()
    life.all_run().settle()
    ran = life.pods
    answer = life.edit(Worker=1, Cook=1).step()
    assert doing(answer) == []
    assert answer.trouble
    assert answer.trouble.reason == "InvalidSpec"
    assert "spec.tfReplicaSpecs.Cook" in answer.trouble.message
    life.settle()
    assert (life.states, life.pods) == (["Created", "Running"], ran)
    assert life.edit(Worker=2).step().trouble is None


def test_an_environment_that_no_process_can_be_given_is_refused() -> None:
    """SECURITY: TF_CONFIG must stay under 128 KiB, the most that Linux takes for one string."""
    assert not plan(TF, a_job(TF, Worker=2000), a_world()).status.finished
    # The rule at admission lets all of these pass: it knows neither namespace nor domain.
    for workers, domain, fine in ((4000, "", True), (4000, "example.com", False), (4200, "", False)):
        job = a_job(TF, Worker=workers)
        assert job.problems == ()
        answer = plan(TF, job, a_world(), Settings(cluster_domain=domain))
        assert states(answer.status) == (["Created"] if fine else ["Created", "Failed"])
    assert "spec.tfReplicaSpecs: TF_CONFIG would have" in answer.status.conditions[-1].message
    assert not plan(TF, a_job(TF, spec={"enableDynamicWorker": True}, Worker=6000), a_world()).status.finished
