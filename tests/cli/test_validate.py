"""`trainop validate` as people and programs meet it; what it finds is in tests/files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trainop import cli

JOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      template: {spec: {containers: [{name: tensorflow, image: train}]}}
"""
WRONG = JOB.replace("replicas: 1", "replicas: -1\n      restart: Never")
OTHER = "apiVersion: v1\nkind: ConfigMap\n"


def validate(*words: str, text: str = "", color: bool = False) -> Result:
    return CliRunner().invoke(cli.main, ["validate", *words], input=text, color=color)


def test_mistakes_are_shown_as_a_compiler_shows_them() -> None:
    result = validate("-", text=f"{JOB}---\n{OTHER}---\n{WRONG}")
    assert result.exit_code == 2
    assert result.stdout == (
        "<stdin>:19:17: spec.tfReplicaSpecs.Worker.replicas: must be at least 0, not -1\n"
        "<stdin>:20:7: spec.tfReplicaSpecs.Worker.restart: unknown field\n"
        "    write restartPolicy\n"
        "2 jobs checked, 2 mistakes in 1; 1 other document skipped (ConfigMap)\n"
    )
    assert result.stderr == ""


def test_a_good_file_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    result = validate(str(path))
    assert (result.exit_code, result.stdout) == (0, "1 job checked, no mistakes\n")


def test_files_folders_and_stdin_at_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text(JOB)
    (tmp_path / "b.json").write_text("{}")
    result = validate(str(tmp_path / "sub"), str(tmp_path / "b.json"), "-", text=WRONG)
    assert result.stdout.startswith(f"{tmp_path}/b.json:1:1: apiVersion: is required\n    write")
    assert "<stdin>:7:17:" in result.stdout
    assert result.stdout.endswith("3 jobs checked, 3 mistakes in 2\n")


def test_as_json_every_mistake_is_an_object() -> None:
    result = validate("-", "-o", "json", text=WRONG)
    assert result.exit_code == 2
    first, second = json.loads(result.stdout)
    assert first == {
        "file": "<stdin>",
        "line": 7,
        "column": 17,
        "document": 1,
        "kind": "TFJob",
        "name": "mnist",
        "path": "spec.tfReplicaSpecs.Worker.replicas",
        "message": "must be at least 0, not -1",
        "hint": "",
    }
    assert second["hint"] == "write restartPolicy"
    good = validate("-", "-o", "json", text=JOB)
    assert (good.exit_code, json.loads(good.stdout)) == (0, [])


def test_colour_only_on_a_terminal() -> None:
    assert "\x1b[" in validate("-", text=WRONG, color=True).stdout
    assert "\x1b[" not in validate("-", text=WRONG).stdout


def test_what_a_file_says_is_not_for_the_terminal_to_obey() -> None:
    evil = JOB.replace("replicas: 1", '"\\e[31mred": 1')
    result = validate("-", text=evil)
    assert result.exit_code == 2
    assert "\x1b" not in result.stdout
    assert r"\x1b[31mred" in result.stdout


@pytest.mark.parametrize(("words", "told"), [([], "Missing argument"), (["no-such.yaml"], "No such file")])
def test_wrong_usage_is_one_line_and_exit_code_2(words: list[str], told: str) -> None:
    result = validate(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_the_order_is_the_same_every_time() -> None:
    text = WRONG.replace("image: train", "image: 1, nmae: x, comand: [], evn: []")
    assert len({validate("-", text=text).stdout for _ in range(5)}) == 1
