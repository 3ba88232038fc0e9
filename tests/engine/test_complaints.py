"""What the cluster says against pods that have not ended. kubeflow-v1 §6.1, the last three rows."""

from typing import Any

import pytest

from tests.builders import TF, a_job, a_pod, a_roster, a_world, everyone, told
from trainop.engine import complaints
from trainop.engine.plan import plan
from trainop.model import Complaint, Event, SeenPod

CRASHED = Complaint("Error", "out of patience", "tensorflow", 1)
BACK_OFF = Complaint("CrashLoopBackOff", "back-off 10s restarting failed container", "tensorflow")
UNSCHEDULABLE = Complaint("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")


def warnings(*pods: SeenPod, workers: int = 2) -> list[Event]:
    job = a_job(TF, Worker=workers)
    return list(complaints.told(a_roster(TF, job, a_world(*pods, of=job))))


@pytest.mark.parametrize(
    ("complaint", "message"),
    [
        (
            CRASHED,
            "Error pod mnist-worker-0 container tensorflow exitCode: 1 terminated message: out of patience",
        ),
        (
            BACK_OFF,
            "Error pod mnist-worker-0 container tensorflow waiting message: "
            "back-off 10s restarting failed container",
        ),
        (
            UNSCHEDULABLE,
            "Error pod mnist-worker-0 condition message: 0/3 nodes are available: 3 Insufficient cpu.",
        ),
    ],
)
def test_it_is_told_in_the_words_of_the_old_operator(complaint: Complaint, message: str) -> None:
    (event,) = warnings(a_pod("Worker", 0, complaints=(complaint,)))
    assert (event.type, event.reason, event.message) == ("Warning", complaint.reason, message)


def test_braces_in_the_clusters_words_are_words() -> None:
    (event,) = warnings(a_pod("Worker", 0, complaints=(Complaint("X", "{pods} {0}"),)))
    assert event.message.endswith("condition message: {pods} {0}")


def test_a_complaint_without_a_reason_gets_one() -> None:
    (event,) = warnings(a_pod("Worker", 0, complaints=(Complaint("", "?"),)))
    assert event.reason == "Error"


@pytest.mark.parametrize(
    "fields", [{"deleting": True}, {"phase": "Failed", "code": 1}, {"phase": "Succeeded", "code": 0}]
)
def test_what_ends_or_has_ended_is_left_in_peace(fields: dict[str, Any]) -> None:
    assert warnings(a_pod("Worker", 0, complaints=(BACK_OFF,), **fields)) == []


def test_other_words_for_the_same_are_the_same_story() -> None:
    """A kubelet tells how long it waits: 10 s, 20 s, 40 s and so on."""
    later = Complaint("CrashLoopBackOff", "back-off 5m0s restarting failed container", "tensorflow")
    (first,), (second,) = (warnings(a_pod("Worker", 0, complaints=(c,))) for c in (BACK_OFF, later))
    assert first.message != second.message
    assert first.story == second.story != ""


def test_another_pod_or_another_container_is_another_story() -> None:
    sidecar = Complaint("CrashLoopBackOff", "back-off 10s", "sidecar")
    pods = [a_pod("Worker", i, complaints=(BACK_OFF, sidecar)) for i in range(2)]
    again = a_pod("Worker", 0, uid="another", complaints=(BACK_OFF,))
    stories = [event.story for event in (*warnings(*pods), *warnings(again))]
    assert len(set(stories)) == 5


def test_many_pods_with_the_same_complaint_are_one_line() -> None:
    """DECISIONS "events for created and deleted children": more than four of a role."""
    pods = [a_pod("Worker", i, "Pending", complaints=(UNSCHEDULABLE,)) for i in range(8)]
    (event,) = warnings(*pods, workers=8)
    assert event.message == (
        "Error pods mnist-worker-0 … mnist-worker-7 (8) condition message: "
        "0/3 nodes are available: 3 Insufficient cpu."
    )
    (fewer,) = warnings(*pods[:5], workers=8)
    assert fewer.story == event.story
    assert len(warnings(*pods[:4], workers=8)) == 4


def test_the_plan_of_a_job_under_way_tells_it_and_changes_nothing_for_it() -> None:
    job = a_job(TF, Worker=2)
    well, ill = everyone(job), everyone(job, complaints=(BACK_OFF,))
    assert told(plan(TF, job, ill)) == [("Warning", "CrashLoopBackOff")] * 2
    assert plan(TF, job, ill).status == plan(TF, job, well).status
    assert plan(TF, job, ill).actions == plan(TF, job, well).actions
