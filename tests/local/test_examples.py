"""The examples run on this machine as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.local.runs import Desk

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("example", ["tensorflow/tfjob.yaml", "mxnet/mxjob.yaml"])
def test_an_example_succeeds(desk: Desk, example: str) -> None:
    run = desk.run(yaml.safe_load((EXAMPLES / example).read_text()))
    assert run.returncode == 0, run.stdout + run.stderr
    assert desk.state()["job"]["status"]["conditions"][-1]["type"] == "Succeeded"
