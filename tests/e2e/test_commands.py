"""The commands that follow a job, while it runs on a real node."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.user import PATIENCE, User, job


@contextmanager
def following(user: User, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command, in the background; it must have ended by itself when the block is over."""
    process = subprocess.Popen(  # noqa: S603 - our own program
        user.argv(*words), env=user.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def test_logs_of_all_members_are_followed_until_the_job_ends(user: User) -> None:
    program = (
        "import os, time\nfor step in range(20):\n    print('step', step, flush=True)\n    time.sleep(0.2)"
    )
    user.apply(job("chatty", program, workers=2))
    user.until_is("chatty", "Running", "Succeeded")
    with following(user, "logs", "-f", "chatty") as logs:
        pass
    said = logs.stdout.read() if logs.stdout else ""
    assert logs.returncode == 0, said
    for worker in ("worker-0", "worker-1"):
        steps = [line for line in said.splitlines() if worker in line and "step" in line]
        assert any(line.endswith("step 0") for line in steps), said
    assert any("worker-0" in line and line.endswith("step 19") for line in said.splitlines()), said


def test_the_status_is_watched_until_the_job_ends(user: User) -> None:
    user.apply(job("watched"))
    user.until_runs("watched-worker-0")
    with following(user, "status", "-w", "watched") as status:
        user.order("watched-worker-0", 0)
    said = status.stdout.read() if status.stdout else ""
    assert status.returncode == 0, said
    assert "Succeeded" in said


def test_waiting_says_by_its_exit_code_what_became_of_the_job(user: User) -> None:
    for name, order, code in (("good", 0, 0), ("bad", 1, 1)):
        user.apply(job(name))
        user.until_runs(f"{name}-worker-0")
        with following(user, "wait", name) as wait:
            user.order(f"{name}-worker-0", order)
        said = wait.stdout.read() if wait.stdout else ""
        assert wait.returncode == code, said
