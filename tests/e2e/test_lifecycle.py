"""Suspending, resuming, limits of time and deletion on a real node: no pod, service or process is left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e import processes
from tests.e2e.node import Node
from tests.e2e.user import User, job

Gone = Callable[[str], None]


@pytest.fixture
def gone(user: User, node: Node | None) -> Gone:
    """Waits until nothing of a job is left: neither in the cluster nor, where one can look, on its node."""

    def wait(name: str) -> None:
        user.until(f"nothing of {name} is left", lambda: not user.children(name))
        if node is not None:
            user.until(f"no process of {name} is left", lambda: not processes.of(node, name))

    return wait


def test_a_suspended_job_has_no_pods_and_a_resumed_one_runs_again(user: User, gone: Gone) -> None:
    user.apply(job("pausing", workers=2))
    first = user.until_runs("pausing-worker-0")
    assert user.trainop("suspend", "pausing")[0] == 0
    user.until_is("pausing", "Suspended")
    gone("pausing")
    assert user.trainop("resume", "pausing")[0] == 0
    user.until_runs("pausing-worker-0", but=first)
    user.until_runs("pausing-worker-1")
    user.order("pausing-worker-0", 0)
    user.until_is("pausing", "Succeeded")


def test_a_job_whose_time_to_live_is_over_takes_everything_with_it(user: User, gone: Gone) -> None:
    user.apply(job("brief", "pass", policy={"ttlSecondsAfterFinished": 1}))
    user.until("the job is gone", lambda: user.get("tfjob", "brief") is None)
    gone("brief")


def test_a_job_beyond_its_deadline_fails_and_leaves_nothing(user: User, gone: Gone) -> None:
    user.apply(job("late", workers=2, policy={"activeDeadlineSeconds": 5}))
    user.until_is("late", "Failed")
    gone("late")
    assert "deadline" in user.explained("late").lower()


def test_a_deleted_job_leaves_nothing(user: User, gone: Gone) -> None:
    user.apply(job("deleted", workers=2))
    for worker in ("deleted-worker-0", "deleted-worker-1"):
        user.until_runs(worker)
    assert len(user.children("deleted")) == 4, "a pod and a service of each worker"
    assert user.trainop("delete", "deleted", "--wait")[0] == 0
    user.until("the job is gone", lambda: user.get("tfjob", "deleted") is None)
    gone("deleted")
