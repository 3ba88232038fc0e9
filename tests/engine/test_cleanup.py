"""What goes when a job has ended. DECISIONS `cleanPodPolicy`, "limits reached"; kubeflow-v1 §5.11."""

from typing import Any

import pytest

from tests.builders import NOW, TF, a_job, a_pod, a_roster, a_service, a_status, a_world, doing, later
from trainop.engine import cleanup

WORLD = a_world(
    a_pod("PS", 0, "Running"),
    a_pod("Worker", 0, "Succeeded", code=0),
    a_pod("Worker", 1, "Failed", code=1),
    a_pod("Worker", 2, "Pending"),
    a_pod("Worker", 3, "Unknown"),
    a_pod("Worker", 4, "Running", deleting=True),
    a_pod("Worker", 6, "Running"),
    *(a_service("Worker", i) for i in (0, 1, 2, 3, 4, 5, 6)),
    a_service("PS", 0, deleting=True),
)

STILL_RUNNING = [
    "-pod mnist-ps-0",
    *("-pod mnist-worker-2", "-service mnist-worker-2"),
    *("-pod mnist-worker-3", "-service mnist-worker-3"),
    "-service mnist-worker-4",  # its pod is on its way out
    "-service mnist-worker-5",  # left alone, as by a crash between the two deletes
    *("-pod mnist-worker-6", "-service mnist-worker-6"),  # left over from a scale-down
]
ENDED = [
    *("-pod mnist-worker-0", "-service mnist-worker-0"),
    *("-pod mnist-worker-1", "-service mnist-worker-1"),
]


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        (None, STILL_RUNNING),
        ("Running", STILL_RUNNING),
        ("None", []),
        ("All", [*STILL_RUNNING[:1], *ENDED, *STILL_RUNNING[1:]]),
    ],
)
def test_what_goes_by_policy(policy: str | None, gone: list[str]) -> None:
    """The default is Running. A service goes with its pod."""
    job = a_job(TF, PS=1, Worker=6, policy={"cleanPodPolicy": policy}, status=a_status("Succeeded"))
    assert doing(cleanup.after_end(job, a_roster(TF, job, WORLD))) == gone


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"backoffLimit": 3}, {"restart_count": 3}),
        ({"activeDeadlineSeconds": 60}, {"start_time": NOW, "completion_time": later(60)}),
    ],
)
@pytest.mark.parametrize("policy", ["None", "Running"])
def test_after_a_limit_what_runs_goes_under_every_policy(
    limits: dict[str, int], status: dict[str, Any], policy: str
) -> None:
    """DECISIONS "limits reached": running pods go, finished pods stay according to the policy."""
    end = {"completion_time": later(60), **status}
    job = a_job(
        TF, PS=1, Worker=6, policy={"cleanPodPolicy": policy, **limits}, status=a_status("Failed", **end)
    )
    assert doing(cleanup.after_end(job, a_roster(TF, job, WORLD))) == STILL_RUNNING


@pytest.mark.parametrize(
    ("end", "fields"),
    [
        ("Succeeded", {"restart_count": 3, "completion_time": later(90)}),
        ("Failed", {"restart_count": 2, "completion_time": later(59)}),
    ],
)
def test_a_job_that_ended_by_itself_keeps_its_pods_under_none(end: str, fields: dict[str, Any]) -> None:
    limits = {"backoffLimit": 3, "activeDeadlineSeconds": 60, "cleanPodPolicy": "None"}
    job = a_job(TF, PS=1, Worker=6, policy=limits, status=a_status(end, start_time=NOW, **fields))
    assert doing(cleanup.after_end(job, a_roster(TF, job, WORLD))) == []


def test_a_delete_carries_the_uid_of_what_was_seen() -> None:
    """RELIABILITY 3: no delete by name alone."""
    job = a_job(TF, Worker=1, status=a_status("Succeeded"))
    world = a_world(a_pod("Worker", 0, uid="a"), a_service("Worker", 0, uid="b"))
    found = cleanup.after_end(job, a_roster(TF, job, world))
    assert [getattr(action, "uid", "") for action in found] == ["a", "b"]
