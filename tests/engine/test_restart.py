"""What the end of a pod means, and how tries are counted. Seed 004's exit codes; DECISIONS as cited."""

from typing import Any

import pytest

from tests.builders import a_pod, a_status
from trainop.api.spec import RestartPolicy
from trainop.engine import restart
from trainop.engine.restart import Ending
from trainop.manner import retryable
from trainop.model import SeenContainer, SeenPod

NEVER, ALWAYS = RestartPolicy.NEVER, RestartPolicy.ALWAYS
ON_FAILURE, EXIT_CODE = RestartPolicy.ON_FAILURE, RestartPolicy.EXIT_CODE


@pytest.mark.parametrize("code", [1, 2, 42, 126, 127, 128, 139])
def test_these_exit_codes_are_permanent(code: int) -> None:
    """DECISIONS "exit codes under `ExitCode`": 1-127, 128 and 139."""
    assert not retryable(code)


@pytest.mark.parametrize("code", [129, 130, 134, 137, 138, 140, 143, 255])
def test_these_exit_codes_are_tried_again(code: int) -> None:
    """DECISIONS "exit codes under `ExitCode`": 130, 137, 138, 143 and every other code above 128."""
    assert retryable(code)


STOPPED = SeenContainer("tensorflow", 0, "Completed", cut_off=True)


def failed(code: int | None = 1, **fields: Any) -> SeenPod:
    return a_pod("Worker", 0, "Failed", code=code, **fields)


@pytest.mark.parametrize(
    ("pod", "never", "always", "on_failure", "exit_code"),
    [
        (a_pod("Worker", 0, "Succeeded", code=0), *["SUCCEEDED"] * 4),
        (failed(1), "FAILED", "RETRY", "RETRY", "FAILED"),
        (failed(128), "FAILED", "RETRY", "RETRY", "FAILED"),
        (failed(139), "FAILED", "RETRY", "RETRY", "FAILED"),
        (failed(137), "FAILED", "RETRY", "RETRY", "RETRY"),
        (failed(143), "FAILED", "RETRY", "RETRY", "RETRY"),
        # No exit code, such as an init container that failed: retryable, kubeflow-v1 §5.3.
        (failed(None), "FAILED", "RETRY", "RETRY", "RETRY"),
        # DECISIONS "sidecars": the framework's container counts, whatever the others returned.
        (failed(0, sidecar_code=1), *["SUCCEEDED"] * 4),
        (failed(137, sidecar_code=1), "FAILED", "RETRY", "RETRY", "RETRY"),
        (failed(1, sidecar_code=0), "FAILED", "RETRY", "RETRY", "FAILED"),
        # DECISIONS "pod being deleted, evicted, …": replaced, except under Never.
        (failed(None, reason="Evicted"), "FAILED", "LOST", "LOST", "LOST"),
        (failed(1, reason="NodeLost"), "FAILED", "LOST", "LOST", "LOST"),
        (failed(137, reason="Preempting"), "FAILED", "LOST", "LOST", "LOST"),
        (failed(1, disrupted=True), "FAILED", "LOST", "LOST", "LOST"),
        # Evicted after the framework's container had done its work: that decides.
        (failed(0, reason="Evicted"), *["SUCCEEDED"] * 4),
        (failed(0, disrupted=True), *["SUCCEEDED"] * 4),
        (failed(0, disrupted=True, sidecar_code=143), *["SUCCEEDED"] * 4),
        # Told to stop, it saved its state and said 0: it has not done its work.
        (failed(disrupted=True, containers=(STOPPED,)), "FAILED", "LOST", "LOST", "LOST"),
    ],
)
def test_the_end_of_a_pod_by_policy(
    pod: SeenPod, never: str, always: str, on_failure: str, exit_code: str
) -> None:
    found = {policy: restart.ending(policy, "tensorflow", pod).name for policy in RestartPolicy}
    assert found == {NEVER: never, ALWAYS: always, ON_FAILURE: on_failure, EXIT_CODE: exit_code}


def test_a_pod_without_the_frameworks_container_has_no_exit_code() -> None:
    pod = a_pod("Worker", 0, "Failed", code=1, container="web")
    assert restart.exit_code("tensorflow", pod) is None
    assert restart.ending(EXIT_CODE, "tensorflow", pod) is Ending.RETRY


def test_the_order_of_containers_does_not_matter() -> None:
    containers = (SeenContainer("sidecar", 0), SeenContainer("tensorflow", 137))
    assert restart.exit_code("tensorflow", a_pod("Worker", 0, containers=containers)) == 137


# --- counting: DECISIONS `backoffLimit` ---------------------------------------------------------------------


def test_restarts_in_place_and_replaced_pods_are_counted_alike() -> None:
    one, two = a_pod("Worker", 0, restarts=2), failed(137, uid="two")
    status = restart.count(a_status(), [(one, False), (two, True)])
    assert status.restart_count == 3
    assert status.restarts_counted == {one.uid: 2, "two": 1}


def test_each_pod_and_each_restart_is_counted_once() -> None:
    seen = [(a_pod("Worker", 0, restarts=2), False), (failed(137, uid="two"), True)]
    status = restart.count(a_status(), seen)
    assert restart.count(status, seen) is status
    more = restart.count(status, [(a_pod("Worker", 0, restarts=3), False), seen[1]])
    assert more.restart_count == status.restart_count + 1


def test_a_pod_that_restarted_in_place_and_then_failed_counts_once_more() -> None:
    before = restart.count(a_status(), [(a_pod("Worker", 0, restarts=2), False)])
    pod = a_pod("Worker", 0, "Failed", code=1, restarts=2)
    assert not restart.counted(before, pod)
    after = restart.count(before, [(pod, True)])
    assert after.restart_count == 3
    assert restart.counted(after, pod)


def test_the_count_survives_the_pod_and_the_memory_of_it_does_not() -> None:
    status = a_status(restart_count=3, restarts_counted={"gone": 3})
    after = restart.count(status, [])
    assert (after.restart_count, after.restarts_counted) == (3, {})


def test_a_pod_that_is_on_its_way_out_is_not_counted_again() -> None:
    status = restart.count(a_status(), [(failed(137), True)])
    going = failed(137, deleting=True)
    assert restart.count(status, [(going, False)]) is status


@pytest.mark.parametrize(
    ("count", "limit", "over"),
    [
        (0, None, False),
        (99, None, False),
        (0, 0, False),
        (1, 0, True),
        (0, 1, False),
        (1, 1, True),
        (2, 3, False),
        (3, 3, True),
        (4, 3, True),
    ],
)
def test_the_limit_is_reached_at_that_failure(count: int, limit: int | None, over: bool) -> None:
    """3: at the third failure; 0: at the first."""
    assert restart.over_limit(a_status(restart_count=count), limit) is over
