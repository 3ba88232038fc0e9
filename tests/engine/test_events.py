"""What users are told about children that came and went, or would not. DECISIONS "events for created …"."""

import pytest

from trainop.engine import events
from trainop.model import (
    Action,
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    DeleteService,
    Event,
    Member,
    PatchPodGroup,
)


def worker(index: int) -> Member:
    return Member("Worker", index, f"mnist-worker-{index}", "", 0)


def test_up_to_four_children_of_a_role_have_a_line_each() -> None:
    found = list(events.of_children([CreatePod(worker(i)) for i in range(4)], "mnist"))
    assert found == [
        Event("Normal", "SuccessfulCreatePod", f"Created pod: mnist-worker-{i}") for i in range(4)
    ]


def test_more_than_four_are_told_in_one() -> None:
    gone = [DeletePod("Worker", f"mnist-worker-{i}", "u") for i in range(5)]
    other = DeleteService("PS", "mnist-ps-0", "u")
    assert [(e.reason, e.message) for e in events.of_children([*gone, other], "mnist")] == [
        ("SuccessfulDeletePod", "Deleted pods: mnist-worker-0 … mnist-worker-4 (5)"),
        ("SuccessfulDeleteService", "Deleted service: mnist-ps-0"),
    ]


@pytest.mark.parametrize(
    ("action", "reason", "message"),
    [
        (CreatePod(worker(0)), "FailedCreatePod", "Error creating: no"),
        (CreateService(worker(0)), "FailedCreateService", "Error creating: no"),
        (DeletePod("Worker", "mnist-worker-0", "u"), "FailedDeletePod", "Error deleting: no"),
        (DeleteService("Worker", "mnist-worker-0", "u"), "FailedDeleteService", "Error deleting: no"),
        (DeletePodGroup("mnist", "u"), "FailedDeletePodGroup", "Error deleting: no"),
        (DeleteJob(), "FailedDeleteJob", "Error deleting: no"),
    ],
)
def test_what_the_cluster_refuses_is_told_in_its_words(action: Action, reason: str, message: str) -> None:
    """kubeflow-v1 §6.1."""
    (event,) = events.of_failures([(action, "no")])
    assert (event.type, event.reason, event.message) == ("Warning", reason, message)


@pytest.mark.parametrize("action", [CreatePodGroup("mnist"), PatchPodGroup("mnist", "u")])
def test_a_pod_group_that_is_refused_is_told_by_the_condition_alone(action: Action) -> None:
    assert list(events.of_failures([(action, "no")])) == []


def test_a_role_that_is_refused_over_and_over_is_one_story() -> None:
    """The words of a quota change with what is used of it."""
    first = [(CreatePod(worker(0)), "used: pods=3"), (CreatePod(worker(1)), "used: pods=4")]
    (event,) = events.of_failures(first)
    assert event.message == "Error creating: used: pods=3"
    (again,) = events.of_failures(first[1:])
    assert again.story == event.story != ""
