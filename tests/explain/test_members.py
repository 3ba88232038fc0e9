"""The members of a job as people see them: their words, their number, and pods that are no member's."""

from __future__ import annotations

import pytest

from tests.builders import Raw, a_status, later
from tests.explain.scenes import RUNNING, a_pod, a_scene, an_event, ended, looping, waiting
from trainop.api.spec import RestartPolicy
from trainop.explain import exits
from trainop.explain.findings import duration
from trainop.explain.members import named, progress, rows

RUNS = a_status("Created", "Running", start_time=later(0))
OVER = a_status("Created", "!Running", "Succeeded", start_time=later(0), completion_time=later(60))


@pytest.mark.parametrize(
    ("pod", "word"),
    [
        (None, "no pod"),
        (a_pod("Worker"), "waiting"),
        (a_pod("Worker", container=waiting("ContainerCreating")), "ContainerCreating"),
        (a_pod("Worker", phase="Running", container=RUNNING), "running"),
        (a_pod("Worker", phase="Running", container=looping(1, 3)), "CrashLoopBackOff"),
        (a_pod("Worker", phase="Running", deleting=True), "ending"),
        (a_pod("Worker", phase="Succeeded", container=ended(0)), "succeeded"),
        (a_pod("Worker", phase="Failed", container=ended(1)), "failed"),
        (a_pod("Worker", phase="Failed", container=ended(137)), "restarting"),
        (a_pod("Worker", phase="Failed", reason="Evicted"), "Evicted"),
    ],
)
def test_a_state_has_one_word(pod: Raw | None, word: str) -> None:
    (row,) = rows(a_scene(*filter(None, (pod,)), status=RUNS, restart="ExitCode", Worker=1))
    assert row.word == word


def test_a_member_whose_pod_was_cleaned_up_after_the_end_is_gone() -> None:
    assert [row.word for row in rows(a_scene(status=OVER, Worker=1))] == ["gone"]


def test_pods_of_a_spec_that_cannot_be_read_are_shown_all_the_same() -> None:
    pods = a_pod("Worker", 0, phase="Running"), a_pod("PS", 3)
    found = rows(a_scene(*pods, status=RUNS, Worker={"replicas": -1}))
    assert [(row.name, row.word) for row in found] == [("worker-0", "running"), ("ps-3", "waiting")]


def test_progress_counts_by_role_and_not_who_waits_between_two_crashes() -> None:
    pods = [a_pod("Worker", 0, phase="Running", container=RUNNING)]
    pods += [a_pod("Worker", 1, phase="Running", container=looping(1, 3))]
    assert progress(rows(a_scene(*pods, status=RUNS, Worker=3, PS=0))) == {"Worker": "1/3"}


def test_events_stand_in_the_order_in_which_they_happened_and_others_are_left_out() -> None:
    told = {"b": (later(9), 10), "a": (later(9), 9), "c": (later(10), 8)}
    events = [an_event("mnist", why, "", at=at, version=version) for why, (at, version) in told.items()]
    scene = a_scene(events=(*events, an_event("other", "d", "")), Worker=1)
    assert [event.reason for event in scene.events] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (1, "worker-0"),
        (2, "worker-0 and worker-1"),
        (4, "worker-0, worker-1, worker-2 and worker-3"),
        (9, "worker-0, worker-1, worker-2 and 6 more"),
    ],
)
def test_few_are_named_and_many_are_counted(number: int, names: str) -> None:
    assert named(rows(a_scene(Worker=number))) == names


@pytest.mark.parametrize(
    ("code", "reason", "meaning"),
    [
        (0, "", "it ended well"),
        (1, "Error", "the program failed; its last lines say why"),
        (42, "", "the program chose this code itself"),
        (127, "", "the command was not found in the image"),
        (137, "Error", "SIGKILL: it was killed"),
        (137, "OOMKilled", "it used more memory than its limit and was killed"),
        (138, "", "SIGUSR1: it was ended by this signal"),
        (143, "", "SIGTERM: it was told to stop"),
        (254, "", "the program chose this code itself"),
    ],
)
def test_an_exit_code_has_a_meaning(code: int, reason: str, meaning: str) -> None:
    assert exits.meaning(code, reason) == meaning


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Never", 137, False), ("ExitCode", 1, False), ("ExitCode", 137, True), ("OnFailure", 1, True)],
)
def test_what_follows_from_a_code_is_up_to_the_restart_policy(policy: str, code: int, again: bool) -> None:
    told = exits.consequence(RestartPolicy(policy), code)
    assert told.endswith("it is tried again") == again
    assert told.startswith(f"restartPolicy {policy}: ")


def test_a_policy_that_nobody_has_written_is_not_named() -> None:
    told = exits.consequence(RestartPolicy.EXIT_CODE, 1, written=False)
    assert told == "this code is permanent, so it is not tried again"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3_725, "1h2m"), (90_000, "1d1h")]
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(later(seconds) - later(0)) == text
