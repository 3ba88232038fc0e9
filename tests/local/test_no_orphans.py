"""However a run ends, nothing of it is left: neither members nor what they started."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.cluster import waiting
from tests.local.runs import (
    FOREVER,
    PATIENCE,
    STUBBORN,
    WITH_A_GRANDCHILD,
    Desk,
    Terminal,
    alive,
    children,
    role,
    tfjob,
)

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to look"),
    pytest.mark.thorough,
]

HURRIED = {"terminationGracePeriodSeconds": 1}
SLOW = {"terminationGracePeriodSeconds": 1000}
JOB = tfjob(
    Chief=role(FOREVER),
    PS=role(STUBBORN, pod=HURRIED),
    Worker=role(WITH_A_GRANDCHILD, pod=HURRIED, replicas=2),
)
MEMBERS = ("chief-0", "ps-0", "worker-0", "worker-1")
PROCESSES = 6
"""Four members and two grandchildren."""


def ready(desk: Desk, *members: str, processes: int) -> str:
    mark = desk.until_ready(*members)
    waiting.until("all processes run", lambda: len(alive(mark)) == processes)
    return mark


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all_members(desk: Desk, number: signal.Signals) -> None:
    run = desk.start(JOB)
    mark = ready(desk, *MEMBERS, processes=PROCESSES)
    run.send_signal(number)
    output, _ = run.communicate(timeout=PATIENCE)
    assert (run.returncode, alive(mark)) == (130, [])
    assert output.splitlines()[-1] == "interrupted: all members have been stopped"
    codes = {
        pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        for pod in desk.state()["pods"]
    }
    assert codes == {"job-chief-0": 143, "job-ps-0": 137, "job-worker-0": 143, "job-worker-1": 143}
    assert list((desk.run_dir / "pids").iterdir()) == []


def test_a_second_ctrl_c_kills_at_once(desk: Desk) -> None:
    run = desk.start(tfjob(Chief=role(STUBBORN, pod=SLOW)))
    mark = ready(desk, "chief-0", processes=1)
    run.send_signal(signal.SIGINT)
    assert run.stdout
    while "Ctrl-C again kills them" not in run.stdout.readline():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=PATIENCE)
    assert (run.returncode, alive(mark)) == (130, [])


def test_a_second_hang_up_is_no_hurry(desk: Desk) -> None:
    saving = (
        "import signal, sys, time\n"
        "def save(*_):\n    time.sleep(1); print('saved', flush=True); sys.exit(0)\n"
        f"signal.signal(signal.SIGTERM, save)\n{FOREVER}"
    )
    run = desk.start(tfjob(Chief=role(saving)))
    ready(desk, "chief-0", processes=1)
    run.send_signal(signal.SIGHUP)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=PATIENCE)
    assert desk.log("chief-0").split() == ["ready", "saved"]


def test_a_closed_terminal_stops_all_members(desk: Desk) -> None:
    desk.write(JOB)
    terminal = Terminal(desk, 80)
    mark = ready(desk, *MEMBERS, processes=PROCESSES)
    assert terminal.close() == 130
    assert alive(mark) == []


def test_killing_trainop_itself_leaves_nobody_after_five_seconds(desk: Desk) -> None:
    run = desk.start(JOB)
    mark = ready(desk, *MEMBERS, processes=PROCESSES)
    run.kill()
    run.wait()
    killed = time.monotonic()
    waiting.until("nobody is left", lambda: not alive(mark), limit=5)
    assert time.monotonic() - killed < 5
    run.communicate()


def test_a_warden_that_is_killed_is_followed_by_another(desk: Desk) -> None:
    run = desk.start(JOB)
    mark = ready(desk, *MEMBERS, processes=PROCESSES)
    (warden,) = set(children(run.pid)) - set(alive(mark))
    os.kill(warden, signal.SIGKILL)
    waiting.until("there is another", lambda: {*children(run.pid)} - {*alive(mark), warden})
    run.kill()
    run.wait()
    waiting.until("nobody is left", lambda: not alive(mark), limit=5)
    run.communicate()


def test_a_job_that_ends_leaves_nobody(desk: Desk) -> None:
    there = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)"
    job = tfjob(Chief=role(there), Worker=role(WITH_A_GRANDCHILD, pod=HURRIED))
    run = desk.start(job)
    mark = ready(desk, "worker-0", processes=3)
    (desk.folder / "go").touch()
    run.communicate(timeout=PATIENCE)
    assert (run.returncode, alive(mark)) == (0, [])


def test_a_time_that_is_over_ends_the_run_with_a_sentence(desk: Desk) -> None:
    run = desk.run(JOB, "--timeout", "1s")
    assert run.returncode == 1
    told = "the job was not done after 1 s (--timeout): all members have been stopped"
    assert run.stdout.splitlines()[-1] == told
    assert list((desk.run_dir / "pids").iterdir()) == []
