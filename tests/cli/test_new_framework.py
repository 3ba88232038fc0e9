"""`trainop new-framework`: what it writes keeps the contract at once, and nothing that is there is touched."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trainop import cli

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("checked_")]:
        del sys.modules[name]


def trainop(*words: str) -> Result:
    return CliRunner().invoke(cli.main, words)


def test_a_folder_keeps_the_contract_at_once_and_its_example_runs() -> None:
    written = trainop("new-framework", "relay")
    assert written.exit_code == 0, written.output
    assert written.stdout == (
        "wrote relay/__init__.py\nwrote relay/example.yaml\n\nNext:\n  trainop check-framework relay\n"
    )
    checked = trainop(*written.stdout.splitlines()[-1].split()[1:])
    assert checked.exit_code == 0, checked.output
    assert "ok   relay/example.yaml runs here\n" in checked.stdout


@pytest.mark.thorough
def test_a_project_keeps_the_contract_at_once_and_names_its_entry_point(workplace: Path) -> None:
    words = ("--package", "--kind", "RelayRace", "--group", "ml.example.org")
    written = trainop("new-framework", "relay", *words)
    assert written.exit_code == 0, written.output
    checked = trainop("check-framework", "trainop-relay/trainop_relay")
    assert checked.exit_code == 0, checked.output
    project = tomllib.loads((workplace / "trainop-relay" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"trainop.frameworks": {"relay": "trainop_relay:FRAMEWORK"}}
    example = (workplace / "trainop-relay" / "trainop_relay" / "example.yaml").read_text()
    assert "\napiVersion: ml.example.org/v1\nkind: RelayRace\n" in example


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["x", "a" * 51])
def test_the_shortest_and_the_longest_name_will_do(name: str) -> None:
    assert trainop("new-framework", name).exit_code == 0
    checked = trainop("check-framework", name)
    assert checked.exit_code == 0, checked.output


@pytest.mark.thorough
def test_what_is_written_is_as_our_own_code_must_be(workplace: Path) -> None:
    trainop("new-framework", "relay")
    settings = [
        "--config",
        str(ROOT / "pyproject.toml"),
        "--config",
        "lint.isort.known-first-party=['trainop']",
    ]
    for check in (
        ["ruff", "check", "--no-cache", *settings],
        ["ruff", "format", "--no-cache", "--check", *settings],
        ["mypy", "--cache-dir", str(workplace / "cache"), "--config-file", str(ROOT / "pyproject.toml")],
    ):
        done = subprocess.run(  # noqa: S603 - our own tools
            [str(BIN / check[0]), *check[1:], str(workplace / "relay")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_json_tells_the_files_and_what_to_type_next() -> None:
    told = json.loads(
        trainop("new-framework", "relay", "--package", "--output-dir", "mine", "-o", "json").stdout
    )
    assert all(Path(path).is_file() for path in told["files"])
    assert told["next"] == [
        "pip install ./mine/trainop-relay",
        "trainop check-framework relay",
        "trainop run mine/trainop-relay/trainop_relay/example.yaml",
    ]


@pytest.mark.parametrize("package", [(), ("--package",)])
def test_what_is_there_is_not_touched(workplace: Path, package: tuple[str, ...]) -> None:
    first = trainop("new-framework", "relay", *package, "-o", "json")
    mine = Path(json.loads(first.stdout)["files"][0])
    mine.write_text("mine")
    again = trainop("new-framework", "relay", *package)
    assert again.exit_code == 2
    assert again.stderr == (
        f"trainop: {mine.parts[0]} is there already: remove it, or choose another name or --output-dir\n"
    )
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("Relay",), "name is 'Relay': make it one lower-case word"),
        (("../relay",), "name is '../relay': make it one lower-case word"),
        (("class",), "name is 'class', which is a word of Python: choose another one"),
        (("a" * 64,), "make it one lower-case word, such as tensorflow, with at most 63 characters"),
        (("mxnet",), "a framework called mxnet is installed: choose another name"),
        (("relay", "--kind", "relay"), "kind is 'relay': make it a word in CamelCase"),
        (("relay", "--group", "relay"), "group is 'relay': make it a domain"),
        (
            ("relay", "--kind", "TFJob", "--group", "kubeflow.org"),
            "TFJob of kubeflow.org is of the framework ",
        ),
        (("relay", "--output-dir", "/proc/here"), "/proc/here/relay cannot be written: "),
    ],
)
def test_what_cannot_be_is_told_in_one_line(workplace: Path, words: tuple[str, ...], told: str) -> None:
    result = trainop("new-framework", *words)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert told in line
    assert list(workplace.iterdir()) == []
