"""Programs that end badly on a real node: what is tried again, what is not, and what users are told."""

from __future__ import annotations

import pytest

from tests.e2e import processes
from tests.e2e.user import LITTLE, User, job

HUNGRY = "held = [bytearray(1 << 20) for _ in range(1 << 12)]"
"""Wants 4 GiB."""


@pytest.mark.usefixtures("our_node")
def test_a_worker_that_was_killed_runs_again_and_the_job_succeeds(user: User) -> None:
    user.apply(job("killed", workers=2, restart="ExitCode"))
    user.until_runs("killed-worker-0")
    victim = user.until_runs("killed-worker-1")
    processes.kill("killed-worker-1")
    user.until_runs("killed-worker-1", but=victim)
    user.order("killed-worker-0", 0)
    user.until_is("killed", "Succeeded", "Failed")
    assert user.state("killed").split()[-1] == "Succeeded"
    events = user.kubectl("get", "events", "--field-selector", "involvedObject.name=killed", "-o", "json")
    assert "exited with code 137" in events


def test_a_worker_that_exits_with_1_fails_the_job(user: User) -> None:
    user.apply(job("broken", workers=2, restart="ExitCode"))
    for worker in ("broken-worker-0", "broken-worker-1"):
        user.until_runs(worker)
    user.order("broken-worker-1", 1)
    user.until_is("broken", "Failed")
    assert "worker-1 has failed with exit code 1" in user.explained("broken")


def test_a_worker_that_wants_too_much_memory_is_told_as_such(user: User) -> None:
    user.apply(job("hungry", HUNGRY, resources=LITTLE))
    user.until_is("hungry", "Failed")
    said = user.explained("hungry")
    assert "used more memory than its limit and was killed" in said
    assert "its memory limit is 128Mi" in said


def test_a_crash_loop_stops_at_the_backoff_limit(user: User) -> None:
    user.apply(job("loop", "raise SystemExit(3)", restart="OnFailure", policy={"backoffLimit": 2}))
    user.until_is("loop", "Failed")
    status = (user.get("tfjob", "loop") or {})["status"]
    [failed] = [it for it in status["conditions"] if it["type"] == "Failed"]
    assert "backoff limit" in failed["message"]
    user.until("its pod is gone", lambda: not user.all("pods"))
