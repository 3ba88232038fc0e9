"""The examples train through `trainop run`, each in its own environment, with members killed on the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster import own, progress
from tools.environments import MXNET, PYTORCH, TENSORFLOW, XGBOOST, Example, environment
from tools.training import Outcome, Training

pytestmark = pytest.mark.training
LIMIT = ("--timeout", "10m")


def home(example: Example, config: pytest.Config) -> Path:
    capture = config.pluginmanager.getplugin("capturemanager")
    with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a download wants to see it
        return environment(example, progress.on_stderr())


def trained(example: Example, folder: Path, config: pytest.Config, *more: str, victim: str = "") -> Outcome:
    training = Training(example, home(example, config), folder / "run", victim, (*LIMIT, *more))
    outcome = training.run(print)
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


def test_a_tensorflow_chief_that_is_killed_goes_on_from_its_checkpoint_which_an_evaluator_reads(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    chief, model = "hello-tensorflow-chief-0", str(tmp_path / "model")
    words = ("--env", f"MODEL_DIR={model}", "--env", "STEPS=300")
    outcome = trained(TENSORFLOW, tmp_path, pytestconfig, *words, victim=chief)
    assert (outcome.state, outcome.restarts) == ("Succeeded", {chief: 1})
    second = (outcome.folder / "logs" / chief / "tensorflow.1.log").read_text()
    steps = [int(step) for step in re.findall(r"^step +(\d+)", second, re.MULTILINE)]
    assert steps[0] >= 90, "it was killed after three rounds of 30 steps, and two of them were saved"
    assert steps[-1] == 300
    assert list(Path(model).glob("events.*")), "what TensorBoard reads"
    task = json.dumps({"cluster": {}, "task": {"type": "evaluator", "index": 0}})
    said = subprocess.run(  # noqa: S603 - the example
        [home(TENSORFLOW, pytestconfig) / "bin" / "python", TENSORFLOW.folder / "train.py"],
        env={**os.environ, "MODEL_DIR": model, "STEPS": "300", "TF_CONFIG": task},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    waits, tried = said.stdout.splitlines()
    assert waits == f"evaluator waits for checkpoints in {model}"
    assert re.fullmatch(r"after step +300  loss 0\.\d+", tried)


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


def test_pytorch_trains_in_two_processes_to_the_end(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    outcome = trained(PYTORCH, tmp_path, pytestconfig, "--env", "EPOCHS=4")
    assert (outcome.code, outcome.state, outcome.restarts) == (0, "Succeeded", {})
    assert len(outcome.losses) == 4
    assert outcome.losses[-1] < outcome.losses[0] / 2


def test_a_pytorch_training_that_loses_its_worker_goes_on_from_the_last_checkpoint(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    words = ("--env", f"MODEL_DIR={model}", "--env", "EPOCHS=12")
    outcome = trained(PYTORCH, tmp_path, pytestconfig, *words, victim="hello-pytorch-worker-0")
    assert (outcome.code, outcome.state) == (0, "Succeeded")
    assert set(outcome.restarts) == {"hello-pytorch-master-0", "hello-pytorch-worker-0"}
    last = sorted((outcome.folder / "logs" / PYTORCH.tells).glob("*.log"))[-1].read_text()
    epochs = [int(epoch) for epoch in re.findall(r"^epoch +(\d+)", last, re.MULTILINE)]
    assert epochs[0] >= 3, "it was killed after three epochs, and two of them were saved"
    assert epochs[-1] == 12


def test_pytorch_trains_with_elastic_workers_that_torchrun_brings_together(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    elastic = replace(
        PYTORCH, file="examples/pytorch/elastic_pytorchjob.yaml", tells="hello-elastic-worker-0"
    )
    outcome = trained(elastic, tmp_path, pytestconfig, "--env", "EPOCHS=3")
    assert (outcome.code, outcome.state) == (0, "Succeeded")
    assert outcome.losses[-1] < outcome.losses[0] / 2


def test_xgboost_grows_its_trees_on_all_members(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    outcome = trained(XGBOOST, tmp_path, pytestconfig, "--env", "ROUNDS=10")
    assert (outcome.code, outcome.state) == (0, "Succeeded")
    assert len(outcome.losses) == 10
    assert outcome.losses[-1] < outcome.losses[0] / 2
    logs = [log.read_text() for log in (outcome.folder / "logs").glob("*/*.log")]
    told = {tuple(re.findall(r"loss (\S+)$", log, re.MULTILINE)) for log in logs}
    assert (len(logs), len(told)) == (3, 1), "what each tells is what all have found"
