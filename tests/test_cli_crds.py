"""`trainop` as people meet it first: help, version, mistakes; and the command that prints the CRDs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from trainop import __version__, cli
from trainop.errors import Conflict, Stuck, TrainopError, Unreachable, Usage


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))  # the other one takes a second for each CRD


def trainop(*words: str) -> Result:
    return CliRunner().invoke(cli.main, words)


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_command_with_what_it_does(word: str) -> None:
    result = trainop(word)
    assert result.exit_code == 0
    for name, purpose in cli.COMMANDS.items():
        assert f"  {name} " in result.output
        assert purpose in result.output


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = trainop(name, "--help")
    assert result.exit_code == 0
    assert f"Examples:\n    trainop {name}" in result.output


def test_help_imports_no_command_and_comes_at_once() -> None:
    code = (
        "import sys, time; from trainop.cli import main; main(['--help'], standalone_mode=False);"
        "heavy = {'pydantic', 'kubernetes', 'httptools', 'yaml'} & set(sys.modules);"
        "sys.exit(f'{heavy}, {time.process_time()} s' if heavy or time.process_time() > 0.4 else 0)"
    )
    # The process's own time: the clock on the wall also tells how busy the machine is with other tests.
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["version"], ["--version"]])
def test_version(words: list[str]) -> None:
    assert trainop(*words).output == f"trainop {__version__}\n"


def test_version_as_json() -> None:
    assert json.loads(trainop("version", "-o", "json").output) == {"version": __version__}


def test_an_unknown_command_is_a_usage_error() -> None:
    result = trainop("crd")
    assert result.exit_code == 2
    assert "No such command 'crd'" in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Usage("the file\nis empty"), 2),
        (Unreachable("the cluster does not answer"), 3),
        (Conflict("changed meanwhile"), 1),
        (Stuck("no quota"), 1),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    error: TrainopError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise error

    monkeypatch.setattr("trainop.registry.by_name", broken)
    result = trainop("crds")
    assert result.exit_code == code
    assert result.stderr == f"trainop: {' '.join(str(error).split())}\n"
    assert result.stdout == ""


def test_crds_prints_one_yaml_document_per_kind() -> None:
    crds = documents(trainop("crds").stdout)
    assert {"tfjobs.kubeflow.org", "mxjobs.kubeflow.org"} <= {item["metadata"]["name"] for item in crds}
    assert {item["kind"] for item in crds} == {"CustomResourceDefinition"}


def test_crds_prints_only_the_frameworks_asked_for() -> None:
    mxnet = ["mxjobs.kubeflow.org", "mxjobs.mlkube.io", "mxjobs.mxnet.mlkube.io"]
    only = documents(trainop("crds", "--framework", "mxnet").stdout)
    assert [item["metadata"]["name"] for item in only] == mxnet
    two = trainop("crds", "--framework", "mxnet", "--framework", "tensorflow", "-o", "json")
    kinds = {item["spec"]["names"]["kind"] for item in json.loads(two.stdout)["items"]}
    assert kinds == {"MXJob", "MxJob", "TFJob", "TfJob"}


def test_json_and_yaml_say_the_same() -> None:
    as_json = json.loads(trainop("crds", "-o", "json").stdout)
    assert as_json["kind"] == "List"
    assert as_json["items"] == documents(trainop("crds").stdout)


def test_crds_names_the_frameworks_there_are_when_asked_for_another() -> None:
    result = trainop("crds", "--framework", "caffe")
    assert result.exit_code == 2
    assert result.stderr.startswith("trainop: no framework is called caffe; installed are ")
    assert "mxnet, pytorch, tensorflow, xgboost" in result.stderr


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_crds_writes_a_file_per_kind(tmp_path: Path, output: str) -> None:
    folder = tmp_path / "new" / "crds"
    result = trainop("crds", "--framework", "tensorflow", "--output-dir", str(folder), "-o", output)
    assert result.exit_code == 0
    groups = ("kubeflow.org", "tensorflow.org", "mlkube.io")
    files = [folder / f"{group}_tfjobs.{output}" for group in groups]
    assert set(folder.iterdir()) == set(files)
    for group, file in zip(groups, files, strict=True):
        (crd,) = documents(file.read_text())
        assert crd["metadata"]["name"] == f"tfjobs.{group}"
    assert result.stdout == ""
    assert result.stderr == "".join(f"wrote {file}\n" for file in files)
