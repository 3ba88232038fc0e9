"""The commands that follow a job, while it runs on a real node."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.user import OBEYS, PATIENCE, WAITS, User, job


@dataclass(frozen=True)
class Follower:
    """A command at work."""

    user: User
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text()

    def until_it_says(self, *words: str) -> None:
        """Wait for a line with these words; no later than it, the command must still be at work."""

        def told() -> bool:
            over = self.process.poll() is not None
            if any(all(word in line for word in words) for line in self.said.splitlines()):
                return True
            assert not over, self.said
            return False

        self.user.until(f"{' and '.join(words)} stand in a line", told)

    def end(self) -> int:
        """It ends by itself, with this code."""
        return self.process.wait(PATIENCE)


@contextmanager
def following(user: User, folder: Path, *words: str) -> Iterator[Follower]:
    output = folder / "said"
    with (
        output.open("wb") as file,
        subprocess.Popen(  # noqa: S603 - our own program
            user.argv(*words), env=user.environment(), stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield Follower(user, process, output)
        finally:
            process.kill()


def test_logs_of_all_members_are_followed_until_the_job_ends(user: User, tmp_path: Path) -> None:
    user.apply(job("chatty", workers=2))
    user.until_is("chatty", "Running")
    with following(user, tmp_path, "logs", "-f", "chatty") as logs:
        for worker in ("worker-0", "worker-1"):
            logs.until_it_says(worker, WAITS)
        for worker in ("worker-1", "worker-0"):  # the job ends with worker 0
            user.order(f"chatty-{worker}", 0)
            logs.until_it_says(worker, OBEYS)
        assert logs.end() == 0, logs.said


def test_the_status_is_watched_until_the_job_ends(user: User, tmp_path: Path) -> None:
    user.apply(job("watched"))
    user.until_runs("watched-worker-0")
    with following(user, tmp_path, "status", "-w", "watched") as status:
        status.until_it_says("watched", "Running")
        user.order("watched-worker-0", 0)
        status.until_it_says("watched", "Succeeded")
        assert status.end() == 0, status.said


@pytest.mark.parametrize(("order", "becomes"), [(0, "succeeded"), (1, "failed")])
def test_waiting_says_by_its_exit_code_what_became_of_the_job(
    user: User, tmp_path: Path, order: int, becomes: str
) -> None:
    user.apply(job("awaited"))
    user.until_runs("awaited-worker-0")
    with following(user, tmp_path, "wait", "awaited") as wait:
        wait.until_it_says("awaited", "Running")
        user.order("awaited-worker-0", order)
        wait.until_it_says("awaited", becomes)
        assert wait.end() == order, wait.said
