"""Programs that end badly on a real node: what is tried again, what is not, and what users are told."""

from __future__ import annotations

from tests.e2e import processes
from tests.e2e.node import Node
from tests.e2e.user import LITTLE, User, job

HUNGRY = "held = [bytearray(1 << 20) for _ in range(1 << 12)]"
"""Wants 4 GiB."""


def test_a_worker_that_was_killed_runs_again_and_the_job_succeeds(user: User, our_node: Node) -> None:
    user.apply(job("killed", workers=2, restart="ExitCode"))
    user.until_runs("killed-worker-0")
    victim = user.until_runs("killed-worker-1")
    processes.kill(our_node, "killed-worker-1")
    user.until_runs("killed-worker-1", but=victim)
    user.order("killed-worker-0", 0)
    user.until_is("killed", "Succeeded", "Failed")
    assert user.state("killed").split()[-1] == "Succeeded"
    user.until(
        "its exit code is told", lambda: "killed-worker-1 exited with code 137" in events(user, "killed")
    )


def events(user: User, name: str) -> str:
    return user.kubectl("get", "events", "--field-selector", f"involvedObject.name={name}", "-o", "json")


def test_a_worker_that_exits_with_1_fails_the_job(user: User) -> None:
    user.apply(job("broken", workers=2, restart="ExitCode"))
    for worker in ("broken-worker-0", "broken-worker-1"):
        user.until_runs(worker)
    user.order("broken-worker-1", 1)
    user.until_is("broken", "Failed")
    assert "worker-1 has failed with exit code 1" in user.explained("broken")


def test_a_worker_that_wants_too_much_memory_is_told_as_such(user: User) -> None:
    # Tried again and again: once in a while a kubelet sees the end of a program before it hears of the reason.
    user.apply(job("hungry", HUNGRY, resources=LITTLE, restart="OnFailure"))
    user.until_explained(
        "hungry",
        "worker-0 used more memory than its limit and was killed",
        "its memory limit is 128Mi",
    )


def test_a_crash_loop_stops_at_the_backoff_limit(user: User) -> None:
    user.apply(job("loop", "raise SystemExit(3)", restart="OnFailure", policy={"backoffLimit": 2}))
    user.until_is("loop", "Failed")
    status = (user.get("tfjob", "loop") or {})["status"]
    [failed] = [it for it in status["conditions"] if it["type"] == "Failed"]
    assert "backoff limit" in failed["message"]
    assert status["restartCount"] == 2
    user.until("its pod is gone", lambda: not user.all("pods"))
