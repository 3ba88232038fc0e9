"""`trainop convert` as people meet it; what becomes of jobs is told in tests/test_convert.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.cli.test_help import shown
from tests.cluster.controlplane import Cluster
from trainop import cli

LEGACY = Path(__file__).parents[2] / "examples" / "legacy"
OLD = sorted(LEGACY.glob("*.yaml"))
V1 = Path(__file__).parents[2] / "examples" / "tensorflow" / "tfjob.yaml"


def convert(*words: str, **more: Any) -> Result:
    return CliRunner().invoke(cli.main, ["convert", *words], **more)


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_every_example_of_2017_becomes_a_job_without_mistakes(path: Path) -> None:
    ended = convert(str(path))
    assert ended.exit_code == 0, ended.stderr
    assert f"{path}: {yaml.safe_load(path.read_text())['kind']} " in ended.stderr
    assert "  changed: " in ended.stderr
    assert "  no equal: " in ended.stderr
    checked = CliRunner().invoke(cli.main, ["validate", "-"], input=ended.stdout)
    assert checked.exit_code == 0, checked.stdout


def test_json_has_the_jobs_and_what_is_told_about_them() -> None:
    [item] = json.loads(convert(str(OLD[0]), "-o", "json").stdout)
    assert item["job"] == yaml.safe_load(convert(str(OLD[0])).stdout)
    assert item.keys() == {"from", "file", "job", "changed", "noEqual"}
    assert item["changed"]
    assert item["noEqual"]
    assert convert(str(OLD[0]), "-o", "json").stderr == ""


def test_a_folder_is_all_jobs_in_it_and_stdin_is_one_more_file() -> None:
    documents = list(yaml.safe_load_all(convert(str(LEGACY)).stdout))
    assert len(documents) == len(OLD)
    assert {it["apiVersion"] for it in documents} == {"kubeflow.org/v1"}
    assert convert("-", input=OLD[0].read_text()).stdout == convert(str(OLD[0])).stdout


def test_a_v1_job_is_printed_as_it_is_with_a_note() -> None:
    ended = convert(str(V1))
    assert ended.exit_code == 0
    assert yaml.safe_load(ended.stdout) == yaml.safe_load(V1.read_text())
    assert ended.stderr == f"{V1}: TFJob hello-tensorflow is kubeflow.org/v1 already\n"


def test_other_documents_are_left_out_and_named() -> None:
    text = "kind: ConfigMap\napiVersion: v1\n---\n" + V1.read_text()
    ended = convert("-", input=text)
    assert len(list(yaml.safe_load_all(ended.stdout))) == 1
    assert "<stdin>: ConfigMap of v1 is no job that could be converted, and left out\n" in ended.stderr


BAD = """\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: { name: mnist }
spec: { replicaSpecs: [{ tfReplicaType: CHIEF }] }
"""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "trainop: <stdin>:2: this is no YAML: "),
        ("- a", "trainop: <stdin>:1: this is no Kubernetes object"),
        ("", "trainop: -: there is no job in it that could be converted"),
        ("kind: ConfigMap\napiVersion: v1", "trainop: -: there is no job in it that could be converted"),
        (BAD, "<stdin>: TfJob mnist cannot be converted: "),
    ],
)
def test_what_cannot_be_converted_is_told_and_the_exit_code_is_two(text: str, complaint: str) -> None:
    ended = convert("-", input=text)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr


def test_jobs_beside_one_that_cannot_be_converted_are(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    shutil.copy(V1, tmp_path / "good.yaml")
    ended = convert(str(tmp_path))
    assert ended.exit_code == 2
    assert yaml.safe_load(ended.stdout)["metadata"]["name"] == "hello-tensorflow"


def test_a_file_that_is_not_there_and_a_cluster_that_is_not_there_are_told(tmp_path: Path) -> None:
    ended = convert(str(tmp_path / "none.yaml"))
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    ended = convert("tfjob/mnist", "--kubeconfig", str(tmp_path / "none"))
    assert (ended.exit_code, ended.stderr.count("\n")) == (3, 1)


@pytest.mark.parametrize("example", [line for line in shown("convert") if "/mnist" not in line])
def test_the_examples_of_the_help_work(example: str, tmp_path: Path) -> None:
    shutil.copy(OLD[0], tmp_path / "old-job.yaml")
    shutil.copytree(LEGACY, tmp_path / "old-jobs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["/bin/bash", "-o", "pipefail", "-c", example]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PATH": path}, check=False)  # noqa: S603 - our own
    assert done.returncode == 0


def test_the_help_fits_into_eighty_columns() -> None:
    text = CliRunner().invoke(cli.main, ["convert", "--help"], terminal_width=80).stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_a_job_of_the_cluster_is_converted_without_what_the_api_server_wrote(
    crds: Cluster, namespace: str
) -> None:
    path = LEGACY / "tf_job.yaml"
    crds.run("create", "-n", namespace, "-f", str(path))
    where = ("--kubeconfig", str(crds.kubeconfig), "-n", namespace)
    ended = convert("tfjob.tensorflow.org/example-job", *where)
    assert ended.exit_code == 0, ended.stderr
    job = yaml.safe_load(ended.stdout)
    assert job["metadata"] == {"name": "example-job", "namespace": namespace}
    assert job["spec"] == yaml.safe_load(convert(str(path)).stdout)["spec"]
    crds.run("create", "-f", "-", stdin=ended.stdout)
    again = convert("tfjob.kubeflow.org/example-job", *where)
    assert "cluster: TFJob example-job is kubeflow.org/v1 already\n" in again.stderr
