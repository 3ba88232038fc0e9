"""`trainop check-framework` as the author of a framework meets it; the checks are in tests/check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cluster.controlplane import Cluster
from trainop import cli

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
CHOIR = ROOT / "tests" / "thirdparty" / "choir.py"


def check(*words: str) -> Result:
    return CliRunner(env={"KUBECONFIG": "/nowhere"}).invoke(cli.main, ["check-framework", *words])


@pytest.mark.parametrize("target", [str(CHOIR), str(ROOT / "frameworks" / "mxnet"), "mxnet"])
def test_by_path_folder_or_name(target: str) -> None:
    result = check(target)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("ok   it can be imported\n")
    assert "FAIL" not in result.stdout
    assert result.stdout.endswith(
        " checks passed; no example was run; no API server was asked: none answers\n"
    )
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_by_module_and_attribute_from_where_one_stands() -> None:
    command = [
        str(Path(sys.executable).with_name("trainop")),
        "check-framework",
        "choir:FRAMEWORK",
        "-o",
        "json",
    ]
    done = subprocess.run(command, cwd=CHOIR.parent, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert all(result["ok"] for result in json.loads(done.stdout))


def test_a_failure_is_told_with_what_to_do_and_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(CHOIR.read_text().replace('"Concert"', '"concert"'))
    result = check(str(path))
    assert result.exit_code == 1
    assert "FAIL names are what Kubernetes takes: kind is 'concert'\n      -> make it a word" in result.stdout
    assert "\n1 of 8 checks failed; " in result.stdout
    (wrong,) = [found for found in json.loads(check(str(path), "-o", "json").stdout) if not found["ok"]]
    assert wrong["check"] == "names are what Kubernetes takes"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("", "AttributeError: there is no FRAMEWORK in "),
        ("\ndef (", "odd-name.py, line 2)"),
        ("a = 1\nb = a.c", "odd-name.py, line 2)"),
        ("FRAMEWORK = 5", "it is of type int"),
    ],
)
def test_a_module_that_is_none_is_told(tmp_path: Path, code: str, told: str) -> None:
    path = tmp_path / "odd-name.py"
    path.write_text(code)
    result = check(str(path))
    assert result.exit_code == 1
    assert told in " ".join(result.stdout.split())


def test_what_another_process_would_say_otherwise_is_told(tmp_path: Path) -> None:
    path = tmp_path / "sets.py"
    ordered = 'f"{member.address}:{member.port}" for member in topology.roles.get("Singer", ())'
    assert ordered in CHOIR.read_text()
    path.write_text(CHOIR.read_text().replace(ordered, f"{{{ordered}}}"))
    result = check(str(path))
    assert "FAIL another process says the same: what sample-" in " ".join(result.stdout.split())
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("tensorflw", "no framework is called tensorflw; did you mean tensorflow?"),
        ("caffe", "installed are "),
        ("missing.py", "there is no such file"),
        (str(ROOT / "docs"), "there is no such file"),
        ("a" * 5_000, "no framework is called"),
    ],
)
def test_what_is_not_there_is_wrong_usage(target: str, told: str) -> None:
    result = check(target)
    assert result.exit_code == 2
    assert told in result.stderr


def test_an_example_that_is_not_there_is_wrong_usage_too() -> None:
    result = check("mxnet", "--example", "missing.yaml")
    assert result.exit_code == 2
    assert result.stderr.startswith("trainop: missing.yaml: No such file")


@pytest.mark.cluster
def test_the_api_server_of_a_kubeconfig_is_asked_too(control_plane: Cluster) -> None:
    result = check(str(CHOIR), "--kubeconfig", str(control_plane.kubeconfig))
    assert "ok   an API server takes the CRD\n" in result.stdout
    assert result.stdout.endswith(" checks passed; no example was run\n")


def test_what_is_named_to_be_run_is_run(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(cli.main, ["new-framework", "relay", "--output-dir", str(tmp_path)]).exit_code == 0
    example = (tmp_path / "relay" / "example.yaml").rename(tmp_path / "mine.yaml")
    assert "runs here" not in check(str(tmp_path / "relay")).stdout
    result = check(str(tmp_path / "relay"), "--run", str(example))
    assert result.exit_code == 0, result.stdout
    told = " ".join(result.stdout.split())
    assert "mine.yaml has no mistakes ok" in told
    assert "mine.yaml runs here all 38 checks passed" in told


def test_a_folder_that_happens_to_be_called_so_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mxnet").mkdir()
    assert check("mxnet").exit_code == 0
