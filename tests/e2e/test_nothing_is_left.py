"""However a node ends, nothing of it is left on the machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster import own, waiting
from tests.cluster.build import Unavailable
from tests.cluster.progress import on_stderr
from tests.e2e import FOREIGN, plot, programs, traces
from tests.e2e.node import Node
from tests.e2e.programs import Software
from tests.e2e.traces import Process
from tests.image.base import ROOT

PATIENCE = 300
FEWEST = 10
"""Processes of a node: seven programs, the shell, and a pod with its shim."""


@pytest.fixture(scope="module")
def software() -> Software:
    if os.environ.get(FOREIGN):
        pytest.skip("needs the node of make e2e")
    with own.or_skip():
        return programs.find(on_stderr())


@contextmanager
def someone(log: Path) -> Iterator[tuple[subprocess.Popen[str], str, set[Process]]]:
    """Who has a node up, what it is called, and its processes."""
    argv = [sys.executable, "-m", "tests.e2e", "up"]
    with (
        log.open("w") as progress,
        subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=progress, text=True) as runner,  # noqa: S603 - no input
    ):
        try:
            name = called(runner)
            yield runner, name, traces.descendants(runner.pid)
        finally:
            runner.kill()


def called(runner: subprocess.Popen[str]) -> str:
    assert runner.stdout
    for line in runner.stdout:
        if found := re.search(r"KUBECONFIG=.*/(trainop-node\d+)-", line):
            return found[1]
    raise AssertionError("no node came up")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_is_gone_when_its_owner_was_asked_to_end(
    software: Software, tmp_path: Path, number: signal.Signals
) -> None:
    before = traces.look(software)
    with someone(tmp_path / "log") as (runner, name, processes):
        assert len(processes) > FEWEST
        assert name in "".join(traces.changes(before, software, name))
        runner.send_signal(number)
        words, _ = runner.communicate(timeout=PATIENCE)
        assert (runner.returncode, words.splitlines()[-1]) == (0, "stopped; nothing is left behind")
    assert traces.alive(processes) == set()
    assert traces.changes(before, software, name) == set()
    assert plot.folders(name) == []


def test_a_node_ends_with_an_owner_that_is_killed_and_the_next_one_removes_the_rest(
    software: Software, tmp_path: Path
) -> None:
    before = traces.look(software)
    with someone(tmp_path / "log") as (runner, name, processes):
        runner.kill()
        runner.wait(PATIENCE)
        waiting.until("its processes are gone", lambda: not traces.alive(processes), PATIENCE)
    plot.tidy()
    assert traces.changes(before, software, name) == set()
    assert plot.folders(name) == []


def test_a_node_that_does_not_come_up_is_removed(software: Software) -> None:
    before = traces.look(software)
    broken = replace(software, programs={**software.programs, "kubelet": Path("/bin/false")})
    node = Node(on_stderr(), broken)
    with pytest.raises(Unavailable, match="kubelet ended by itself"):
        node.start()
    assert traces.changes(before, software, node.name) == set()
    assert plot.folders(node.name) == []


def test_what_is_missing_is_told_in_one_line() -> None:
    argv = [sys.executable, "-m", "tests.e2e", "up"]
    env = {"PATH": "/nowhere"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - no input
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert "TRAINOP_E2E_KUBECONFIG" in done.stderr
