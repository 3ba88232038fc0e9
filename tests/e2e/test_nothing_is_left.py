"""However a node ends, nothing of it is left on the machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.cluster import own, waiting
from tests.cluster.build import Unavailable
from tests.cluster.progress import on_stderr
from tests.e2e import FOREIGN, plot, programs, traces
from tests.e2e.node import Node
from tests.e2e.programs import Software
from tests.e2e.traces import Process
from tools.environments import ROOT

PATIENCE = 300
FEWEST = 10
"""Processes of a node: seven programs, the shell, and a pod with its shim."""


@pytest.fixture(scope="module")
def software() -> Software:
    if os.environ.get(FOREIGN):
        pytest.skip("needs the node of make e2e")
    with own.or_skip():
        return programs.find(on_stderr())


@dataclass(frozen=True)
class Way:
    """To have a node up: what to run, and what it says then."""

    words: tuple[str, ...]
    says: str


UP = Way(("up",), "runs until Ctrl-C")
SUITE = Way((), "importing docker.io/library/trainop")


@contextmanager
def someone(way: Way, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, set[Process]]]:
    """Who has a node up, what it is called, and its processes."""
    argv, log = [sys.executable, "-m", "tests.e2e", *way.words], folder / "log"
    env = {**os.environ, "PYTEST_ADDOPTS": "-p no:cacheprovider -k two_replicas"}
    with (
        log.open("w") as file,
        subprocess.Popen(argv, cwd=ROOT, env=env, stdout=file, stderr=file) as runner,  # noqa: S603 - no input
    ):

        def up() -> bool:
            assert runner.poll() is None, log.read_text()
            return way.says in log.read_text()

        try:
            waiting.until("a node is up", up, PATIENCE)
            [name] = set(re.findall(r"trainop-node\d+", log.read_text()))
            yield runner, name, traces.descendants(runner.pid)
        finally:
            runner.kill()


def check_that_nothing_is_left(before: set[str], software: Software, name: str) -> None:
    """More than one look: others on this machine mount things, too, and take them away again."""
    assert plot.folders(name) == []
    with suppress(TimeoutError):
        waiting.until("all is as it was", lambda: not traces.changes(before, software, name), pause=2)
    assert traces.changes(before, software, name) == set()


@pytest.mark.parametrize(
    ("way", "number", "code"),
    [pytest.param(SUITE, signal.SIGINT, 2, id="Ctrl-C"), pytest.param(UP, signal.SIGTERM, 0, id="SIGTERM")],
)
def test_a_node_is_gone_when_its_owner_was_asked_to_end(
    software: Software, tmp_path: Path, way: Way, number: signal.Signals, code: int
) -> None:
    before = traces.look(software)
    with someone(way, tmp_path) as (runner, name, processes):
        assert len(processes) > FEWEST
        assert name in "".join(traces.changes(before, software, name))
        runner.send_signal(number)
        assert runner.wait(PATIENCE) == code
    assert traces.alive(processes) == set()
    check_that_nothing_is_left(before, software, name)


def test_a_node_ends_with_an_owner_that_is_killed_and_the_next_one_removes_the_rest(
    software: Software, tmp_path: Path
) -> None:
    before = traces.look(software)
    with someone(UP, tmp_path) as (runner, name, processes):
        runner.kill()
        runner.wait(PATIENCE)
        waiting.until("its processes are gone", lambda: not traces.alive(processes), PATIENCE)
    plot.tidy()
    check_that_nothing_is_left(before, software, name)


def test_a_node_that_does_not_come_up_is_removed(software: Software) -> None:
    before = traces.look(software)
    broken = replace(software, programs={**software.programs, "kubelet": Path("/bin/false")})
    node = Node(on_stderr(), broken)
    with pytest.raises(Unavailable, match="kubelet ended by itself"):
        node.start()
    check_that_nothing_is_left(before, software, node.name)


@pytest.mark.parametrize(
    ("words", "env"),
    [(("up",), {"PATH": "/nowhere"}), ((), {"PATH": "/nowhere"}), ((), {FOREIGN: "/nowhere"})],
    ids=["a node", "the suite", "another cluster"],
)
def test_what_is_missing_is_told_in_one_line(words: tuple[str, ...], env: dict[str, str]) -> None:
    argv = [sys.executable, "-m", "tests.e2e", *words]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - no input
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert "TRAINOP_E2E_KUBECONFIG" in done.stderr
