"""The commands that follow a job, while it runs on a real node."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.user import PATIENCE, User, job


@dataclass
class Followed:
    """What became of a command."""

    code: int = -1
    said: str = ""


@contextmanager
def following(user: User, *words: str) -> Iterator[Followed]:
    """While the block runs, the command does; then it must end by itself."""
    followed = Followed()
    with subprocess.Popen(  # noqa: S603 - our own program
        user.argv(*words), env=user.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield followed
            followed.said, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    followed.code = process.returncode


def test_logs_of_all_members_are_followed_until_the_job_ends(user: User) -> None:
    program = (
        "import os, time\nfor step in range(20):\n    print('step', step, flush=True)\n    time.sleep(0.2)"
    )
    user.apply(job("chatty", program, workers=2))
    user.until_is("chatty", "Running", "Succeeded")
    with following(user, "logs", "-f", "chatty") as logs:
        pass
    assert logs.code == 0, logs.said
    for worker in ("worker-0", "worker-1"):
        steps = [line for line in logs.said.splitlines() if worker in line and "step" in line]
        assert any(line.endswith("step 0") for line in steps), logs.said
    assert any("worker-0" in line and line.endswith("step 19") for line in logs.said.splitlines()), logs.said


def test_the_status_is_watched_until_the_job_ends(user: User) -> None:
    user.apply(job("watched"))
    user.until_runs("watched-worker-0")
    with following(user, "status", "-w", "watched") as status:
        user.order("watched-worker-0", 0)
    assert status.code == 0, status.said
    assert "Succeeded" in status.said


def test_waiting_says_by_its_exit_code_what_became_of_the_job(user: User) -> None:
    for name, order, code in (("good", 0, 0), ("bad", 1, 1)):
        user.apply(job(name))
        user.until_runs(f"{name}-worker-0")
        with following(user, "wait", name) as wait:
            user.order(f"{name}-worker-0", order)
        assert wait.code == code, wait.said
