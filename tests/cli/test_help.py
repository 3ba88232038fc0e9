"""Every example that --help shows does what it says; those that need a cluster are run elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from trainop import cli

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
WITHOUT_A_CLUSTER = (
    *("check-framework", "completion", "crds", "new-framework", "rbac", "render", "validate", "version"),
)


def shown(command: str) -> list[str]:
    text = CliRunner().invoke(cli.main, [command, "--help"], terminal_width=80).stdout
    examples = text.partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in examples.splitlines()]


EXAMPLES = [
    example for command in WITHOUT_A_CLUSTER for example in shown(command) if "kubectl" not in example
]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples speak of."""
    folder = tmp_path_factory.mktemp("workplace")
    for name in ("frameworks", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("job.yaml", "jobs/job.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "examples" / "tensorflow" / "tfjob.yaml", folder / name)
    (folder / "my_package").mkdir()
    shutil.copy(ROOT / "tests" / "thirdparty" / "choir.py", folder / "my_package" / "framework.py")
    return folder


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_works(workplace: Path, example: str) -> None:
    bash = shutil.which("bash")
    assert bash
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - our own examples
        [bash, "-o", "pipefail", "-c", example],
        cwd=workplace,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"(wrote \S+\n)*", done.stderr)  # by `trainop crds --output-dir`
    assert done.stdout or done.stderr


@pytest.mark.parametrize("command", WITHOUT_A_CLUSTER)
def test_there_are_examples_and_they_fit_into_eighty_columns(command: str) -> None:
    assert len(shown(command)) >= 2
    text = CliRunner().invoke(cli.main, [command, "--help"], terminal_width=80).stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_no_color_is_obeyed() -> None:
    for value, coloured in (("", True), ("1", False)):
        result = CliRunner(env={"NO_COLOR": value}).invoke(
            cli.main, ["validate", "-"], input="a: [", color=True
        )
        assert ("\x1b[" in result.stdout) is coloured


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["operator", "--bogus"], "No such option '--bogus'. Did you mean '--verbose'? (see trainop operator --help)"),
        (["operator", "--namespace"], "Option '--namespace' requires an argument (see trainop operator --help)"),
        (
            ["operator", "--controller-threads=0"],
            "Invalid value for '--controller-threads': 0 is not in the range 1<=x<=256 (see trainop operator --help)",
        ),
        (
            ["operator", "--enable-scheme=PaddleJob"],
            "no installed framework serves PaddleJob; there are: MXJob, MxJob, PyTorchJob, TFJob, TfJob, XGBoostJob "
            "(see trainop operator --help)",
        ),
        (
            ["operator", "--metrics-bind-address=8080"],
            "Invalid value for '--metrics-bind-address': 8080 is no address to listen on; write :8080 or "
            "127.0.0.1:8080, or 0 for none (see trainop operator --help)",
        ),
        (
            ["operator", "--namespace=team-a,Team_B"],
            "no namespace can be called Team_B: names have a-z, 0-9 and dashes (see trainop operator --help)",
        ),
        (
            ["operator", "--leader-election-id=My_Lease"],
            "Invalid value for '--leader-election-id': nothing can be called My_Lease: names have a-z, 0-9, dashes and "
            "dots (see trainop operator --help)",
        ),
        (
            ["operator", "--leader-election-namespace=team_b"],
            "Invalid value for '--leader-election-namespace': nothing can be called team_b: names have a-z, 0-9, "
            "dashes and dots (see trainop operator --help)",
        ),
        (["operator", "extra"], "Got unexpected extra argument (extra) (see trainop operator --help)"),
        (["operater"], "No such command 'operater' (see trainop --help)"),
        (["--bogus"], "No such option '--bogus' (see trainop --help)"),
    ],
)  # fmt: skip
def test_a_mistake_in_what_was_typed_is_one_line_that_says_where_to_look(words: list[str], line: str) -> None:
    result = CliRunner().invoke(cli.main, words, prog_name="trainop")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"trainop: {line}\n")
