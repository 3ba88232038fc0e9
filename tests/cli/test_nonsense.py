"""Whatever is fed to a command that reads files: a line that says what to do, never a traceback, never forever."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import MX, TF, a_manifest
from tests.files.test_documents import BOMB, CHAIN
from trainop import cli, registry
from trainop.files.checker import Checker
from trainop.files.documents import documents

pytestmark = pytest.mark.thorough

COMMANDS = ["validate", "render"]
NONSENSE: dict[str, bytes] = {
    "random bytes": random.Random(1).randbytes(10_000),  # noqa: S311 - the same in every run
    "zeros": bytes(1_000),
    "an ELF file": b"\x7fELF\x02\x01\x01" + bytes(100),
    "utf-16": "apiVersion: v1".encode("utf-16"),
    "half a job": b"apiVersion: kubeflow.org/v1\nkind: TFJob\nspec:\n  tfReplicaSpecs:\n   Worker: {repl",
    "nesting": b"[" * 200_000,
    "nested maps": b"{a: " * 50_000,
    "a bomb": BOMB.encode(),
    "a chain": CHAIN.encode(),
    "tabs": b"a:\n\t\tb\n",
    "a wrong tag": b"a: !!python/object/apply:os.system [exit 3]\n",
    "only a scalar": b"hello\n",
    "a huge number": b"apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: " + b"9" * 100_000,
    "a bare list": b"kind: List\napiVersion: v1\nitems: [1, null, [], {}]\n",
    "a job that is null": b"kind: TFJob\napiVersion: kubeflow.org/v1\nmetadata:\nspec:\n",
    "everything of a wrong type": b"kind: [TFJob]\napiVersion: {a: b}\nmetadata: 1\nspec: text\n",
}


def is_told(result: Result) -> None:
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert 0 < len(result.output) < 10_000


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_is_told(command: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(NONSENSE[what])
    is_told(CliRunner().invoke(cli.main, [command, str(path)]))
    is_told(CliRunner().invoke(cli.main, [command, "-"], input=NONSENSE[what]))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["missing.yaml", "", ".", "a" * 5_000, "job.yaml/below"])
def test_a_path_that_leads_nowhere_is_told(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    Path("job.txt").write_text("")
    is_told(CliRunner().invoke(cli.main, [command, name]))


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(
        cli.main, ["crds", "--framework", "mxnet", "--output-dir", f"{tmp_path}/file/crds"]
    )
    is_told(result)


CHECKER = Checker(registry.frameworks())
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
GOOD = [a_manifest(TF, Chief=1, Worker=2), a_manifest(MX, Scheduler=1, Worker=2)]


def places(value: Any, *way: Any) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in ((*way, key), *places(item, *way, key))]


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.sampled_from(GOOD), st.integers(0, 1_000), JSON, st.text(max_size=3))
def test_anything_may_stand_anywhere(good: dict[str, Any], number: int, value: Any, key: str) -> None:
    """And what is left of a job without mistakes is a job that can be parsed."""
    job = deepcopy(good)
    found = places(job)
    *way, last = found[number % len(found)]
    target = job
    for step in way:
        target = target[step]
    target[last] = value
    if isinstance(target, dict) and number % 2:
        target[key] = value
    report = CHECKER.check(documents("job.json", json.dumps(job)))
    assert all(not checked.job.problems for checked in report.good)
    assert all(mistake.line >= 1 and mistake.column >= 1 and mistake.message for mistake in report.mistakes)


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.text(alphabet="abk: \n-[]{}&*<!'\"|>\t#?,%@01.~_", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    CHECKER.check(documents("job.yaml", text))
