"""Why a job is not running or has failed: each cause with the sentence that people get, its evidence, the next step."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_status
from tests.explain.broken import BROKEN, CREATED, OVER_BACKOFF, RUNS, failed, written_by
from tests.explain.scenes import a_pod, a_scene, ended, looping, waiting
from trainop.explain.answer import explain
from trainop.explain.evidence import Evidence
from trainop.explain.findings import Finding


@pytest.mark.parametrize(("evidence", "cause", "sentence"), BROKEN.values(), ids=BROKEN)
def test_the_first_cause_is_told_in_one_sentence(evidence: Evidence, cause: str, sentence: str) -> None:
    first = explain(evidence).findings[0]
    assert (first.cause, first.message) == (cause, sentence)


def the(name: str) -> Finding:
    return explain(BROKEN[name][0]).findings[0]


@pytest.mark.parametrize(
    "name", sorted(BROKEN.keys() - {"succeeded", "a pod that is being deleted", "evicted"})
)
def test_every_cause_that_can_be_mended_comes_with_a_next_step(name: str) -> None:
    assert the(name).next or name == "being deleted"


def test_a_quota_is_shown_with_what_is_used_of_it() -> None:
    assert the("quota").evidence[1:] == ("quota team: pods 4 of 4 used", "quota team: cpu 6 of 8 used")


def test_what_no_node_has_is_shown_beside_what_was_asked_for() -> None:
    found = the("no node with room")
    assert found.evidence[1:] == (
        "worker-0, container tensorflow, asks for nvidia.com/gpu 2",
        "of 2 nodes large has the most nvidia.com/gpu: 1",
    )
    assert found.next[0] == "ask for less nvidia.com/gpu, or add nodes that have it"


def test_it_is_told_whose_the_name_is() -> None:
    assert the("a name that is taken").evidence[1] == "pod mnist-worker-0 belongs to MXJob mnist"


def test_pods_that_are_cleaned_up_after_the_end_are_no_cause() -> None:
    going = a_pod("PS", phase="Running", deleting=True)
    failure = a_pod("Worker", phase="Failed", container=ended(1))
    answer = explain(a_scene(going, failure, status=failed("it has failed"), PS=1, Worker=1))
    assert [finding.cause for finding in answer.findings] == ["MemberFailed"]


def test_the_next_step_for_a_local_run_names_its_directory() -> None:
    failure = a_pod("Worker", phase="Failed", container=ended(1))
    scene = a_scene(failure, status=failed("it has failed"), Worker=1, more={"home": "runs/mnist"})
    assert explain(scene).findings[0].next[-1] == "trainop logs runs/mnist --role Worker --index 0"


def test_what_preemption_would_not_help_with_is_no_cause_of_its_own() -> None:
    assert "cpu" not in the("a taint and a selector").message


def test_why_an_image_cannot_be_pulled_is_taken_from_the_event_that_tells_it() -> None:
    found = the("an image that is not there")
    assert found.evidence == ('ImagePullBackOff: Failed to pull image "train:1": not found',)
    assert found.next[0] == "the registry has no such image: check its name and tag"


def test_pods_of_another_operator_that_cannot_start_are_to_be_deleted_after_an_edit_of_the_job() -> None:
    told = "after a change of the job, delete what another operator has made before it:"
    image, room = the("an image that is not there"), the("no node with room")
    assert image.next[-2:] == (told, "kubectl -n ns delete pod mnist-worker-0")
    assert room.next[-2:] == (told, "kubectl -n ns delete pod mnist-worker-0 mnist-worker-1")


def test_pods_of_our_own_that_cannot_start_need_only_the_edit() -> None:
    pod = a_pod("Worker", container=waiting("ErrImagePull", "not found"))
    pod["metadata"]["annotations"] = {"training.kubeflow.org/template-hash": "0"}
    [found] = explain(a_scene(pod, status=CREATED, Worker=1)).findings
    assert found.next[-1] == "a change of the job is enough: the operator makes such pods anew"


def test_the_command_stays_short_where_many_pods_cannot_start() -> None:
    pods = (a_pod("Worker", i, container=waiting("ErrImagePull", "not found")) for i in range(6))
    [found] = explain(a_scene(*pods, status=CREATED, Worker=6)).findings
    assert found.next[-1] == (
        "kubectl -n ns delete pod -l training.kubeflow.org/job-name=mnist "
        "--field-selector=status.phase=Pending"
    )


def test_a_crash_loop_shows_the_last_lines_and_what_the_policy_makes_of_it() -> None:
    assert the("a crash loop").evidence == (
        "worker-0 has been restarted 4 times in place",
        "restartPolicy OnFailure: it is tried again",
        "worker-0 | Traceback",
        "worker-0 | KeyError: 'loss'",
    )


def test_who_suspended_a_job_is_told() -> None:
    (told,) = the("suspended").evidence
    assert told == "spec.runPolicy.suspend was set by kubectl-edit at 2024-05-01T12:00:00Z"
    assert the("suspended").next == ("trainop resume tfjob/mnist -n ns",)


def test_a_job_that_kueue_suspended_waits_for_kueue() -> None:
    evidence = a_scene(
        status=a_status("Created", "Suspended"),
        policy={"suspend": True},
        metadata=written_by("kueue"),
        Worker=1,
    )
    assert explain(evidence).findings[0].next[0] == "wait until Kueue has room for it:"


def test_each_violation_of_pod_security_has_a_line() -> None:
    assert the("Pod Security").evidence == (
        "runAsNonRoot != true (pod or container must set it)",
        "seccompProfile (pod must set it)",
    )


def test_what_the_scheduler_says_of_a_gang_is_shown() -> None:
    assert the("a gang that finds no place").evidence == (
        "PodGroup mnist is Pending",
        "its queue is batch",
        "3/3 tasks unschedulable",
    )


def test_what_made_members_fail_comes_before_the_limit_that_ended_the_job() -> None:
    evidence = a_scene(
        a_pod("Worker", phase="Failed", container=ended(137, "OOMKilled")),
        status=failed(OVER_BACKOFF, restart_count=3),
        policy={"backoffLimit": 3},
        restart="OnFailure",
        Worker=1,
    )
    assert [it.cause for it in explain(evidence).findings] == ["OutOfMemory", "BackoffLimitExceeded"]


def test_members_with_the_same_trouble_are_told_of_together() -> None:
    pods = [a_pod("Worker", i, container=waiting("ErrImagePull", "denied")) for i in range(6)]
    answer = explain(a_scene(*pods, status=CREATED, Worker=6))
    assert [it.message for it in answer.findings] == [
        "the image train:1 of worker-0, worker-1, worker-2 and 3 more cannot be pulled."
    ]


def test_several_that_fail_alike_are_told_of_in_the_plural() -> None:
    pods = [a_pod("Worker", i, phase="Failed", container=ended(1)) for i in range(2)]
    pods += [a_pod("PS", i, phase="Running", deleting=True) for i in range(2)]
    answer = explain(a_scene(*pods, status=RUNS, restart="OnFailure", PS=2, Worker=2))
    assert [finding.message for finding in answer.findings] == [
        "worker-0 and worker-1 have failed with exit code 1: the program failed; its last lines say why.",
        "ps-0 and ps-1: their pods are being deleted.",
    ]


def test_an_exit_code_of_an_init_container_is_told_with_its_name() -> None:
    init = {"name": "fetch", **looping(7, restarts=2)}
    pod = a_pod("Worker", container=waiting("PodInitializing"), initContainerStatuses=[init])
    found = explain(a_scene(pod, status=CREATED, restart="OnFailure", Worker=1)).findings[0]
    assert found.message == (
        "container fetch of worker-0 fails again and again with exit code 7: the program chose this code itself."
    )


@pytest.mark.parametrize(
    ("status", "state"), [(None, "New"), (RUNS, "Running"), (a_status("Created", "!Blocked"), "Created")]
)
def test_the_state_is_the_newest_condition_that_holds(status: Any, state: str) -> None:
    assert explain(a_scene(status=status, Worker=1)).state == state
