"""The examples train through `trainop run`, each in its own environment, with members killed on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import own, progress
from tools.environments import MXNET, TENSORFLOW, Example, environment
from tools.training import Outcome, Training

pytestmark = pytest.mark.training
LIMIT = ("--timeout", "10m")


def trained(example: Example, folder: Path, config: pytest.Config, *more: str, victim: str = "") -> Outcome:
    capture = config.pluginmanager.getplugin("capturemanager")
    with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a download wants to see it
        home = environment(example, progress.on_stderr())
    outcome = Training(example, home, folder / "run", victim, (*LIMIT, *more)).run(print)
    assert outcome.processes == [], "nobody is left running"
    return outcome


def test_tensorflow_trains_on_when_every_worker_has_been_killed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    workers = "hello-tensorflow-worker-*"
    outcome = trained(TENSORFLOW, tmp_path, pytestconfig, "--env", "STEPS=600", victim=workers)
    assert (outcome.code, outcome.state) == (0, "Succeeded")
    assert outcome.restarts == {"hello-tensorflow-worker-0": 1, "hello-tensorflow-worker-1": 1}
    assert len(outcome.losses) == 20
    assert outcome.losses[-1] < outcome.losses[0] / 2


def test_mxnet_trains_to_the_end(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    outcome = trained(MXNET, tmp_path, pytestconfig, "--env", "EPOCHS=5")
    assert (outcome.code, outcome.state, outcome.restarts) == (0, "Succeeded", {})
    assert len(outcome.losses) == 5
    assert outcome.losses[-1] < outcome.losses[0] / 2


def test_an_mxnet_training_that_loses_a_worker_fails_instead_of_waiting_for_ever(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    outcome = trained(MXNET, tmp_path, pytestconfig, "--env", "EPOCHS=1000", victim="hello-mxnet-worker-1")
    assert (outcome.code, outcome.state, outcome.restarts) == (1, "Failed", {})
