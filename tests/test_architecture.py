"""The walls of the house. Each test's name is the rule it keeps."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A room may use itself and what is named here; nothing else of trainop.
MAY_USE = {
    "api": set(),
    "errors": set(),
    "model": {"api"},
    "manner": {"api", "model"},
    "framework": {"api", "manner", "model"},
    "template": set(),
    "rules": {"framework", "model", "template"},
    "parse": {"api", "framework", "model", "rules"},
    "convert": {"api", "framework", "manner", "model", "parse"},
    "engine": {"api", "framework", "manner", "model", "template"},
    "podschema": {"api"},
    "crd": {"api", "errors", "framework", "podschema", "rules"},
    "render": {"api", "engine", "framework", "model"},
    "records": set(),
    "registry": {"errors", "framework", "model", "records"},
    "files": {"crd", "errors", "framework", "model", "parse", "podschema", "rules"},
    "explain": {"api", "engine", "framework", "manner", "model", "parse", "template"},
    "kube": {"api", "engine", "errors", "explain", "framework", "model"},
    "rundir": {"errors", "explain", "framework", "kube", "model"},
    "rights": {"framework", "model"},
    "check": {
        "api",
        "crd",
        "engine",
        "errors",
        "files",
        "framework",
        "kube",
        "local",
        "model",
        "parse",
        "podschema",
        "records",
        "registry",
        "rules",
    },
    "starter": set(),
    "doctor": {"api", "crd", "engine", "errors", "framework", "kube", "model", "rights"},
    "reconcile": {"engine", "framework", "kube", "model", "parse"},
    "local": {"api", "engine", "errors", "framework", "kube", "model", "operator", "template"},
    "operator": {"api", "engine", "errors", "framework", "kube", "model", "reconcile"},
    "cli": {
        "api",
        "check",
        "convert",
        "crd",
        "doctor",
        "engine",
        "errors",
        "explain",
        "files",
        "framework",
        "kube",
        "local",
        "model",
        "operator",
        "parse",
        "registry",
        "render",
        "rights",
        "rundir",
        "starter",
    },
}
CORE = (
    "api",
    "model",
    "manner",
    "framework",
    "template",
    "rules",
    "parse",
    "engine",
    "explain",
    "render",
    "convert",
)
FOR_FRAMEWORKS = {"api", "framework", "manner", "model"}
FORBIDDEN_IN_CORE = {
    "aiohttp", "asyncio", "httptools", "kubernetes", "logging", "os", "random", "secrets", "socket", "subprocess",
    "threading", "time", "uuid",
}  # fmt: skip


def python_files(folder: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in path.parts]


def imports(path: Path) -> Iterator[str]:
    """Every absolute name the file imports, `from a import b` as `a.b`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(ROOT / "trainop").parts[0].removesuffix(".py")


def rooms_used(path: Path) -> set[str]:
    names = (name.split(".") for name in imports(path) if name.startswith("trainop."))
    return {"api" if parts[1] == "__version__" else parts[1] for parts in names if parts[1] != "__version__"}


@pytest.mark.parametrize("path", python_files("trainop"), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_from_shell_to_core_to_contract_to_data(path: Path) -> None:
    own = room(path)
    if own == "__init__":
        assert rooms_used(path) == set()
        return
    assert own in MAY_USE, f"{own} has no place in the picture: add it to MAY_USE and to docs/architecture.md"
    assert rooms_used(path) <= MAY_USE[own] | {own}


@pytest.mark.parametrize("path", python_files("frameworks"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_framework_imports_only_the_contract_the_model_and_the_api(path: Path) -> None:
    assert rooms_used(path) <= FOR_FRAMEWORKS
    foreign = {name.split(".")[0] for name in imports(path)}
    assert not foreign & (FORBIDDEN_IN_CORE | {"frameworks"})


def test_nobody_imports_a_framework_by_name() -> None:
    culprits = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("trainop", "frameworks", "tests", "tools", "bench")
        for path in python_files(folder)
        for name in imports(path)
        if name.split(".")[0] == "frameworks" or name.startswith("trainop.frameworks")
    ]
    assert culprits == []


def test_the_core_has_no_clock_no_randomness_no_io_and_no_log() -> None:
    files = [path for path in python_files("trainop") if room(path) in CORE]
    culprits = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in imports(path)
        if name.split(".")[0] in FORBIDDEN_IN_CORE
    ]
    culprits += [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.attr}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ("now", "utcnow", "today")
        and isinstance(node.value, ast.Name)
        and node.value.id in ("datetime", "date")
    ]
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.func.id}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open", "print", "input")
    ]
    assert culprits + calls == []


def test_only_the_kube_room_and_the_probes_know_http() -> None:
    culprits = [
        str(path.relative_to(ROOT))
        for path in python_files("trainop")
        if room(path) != "kube" and {"aiohttp", "httptools"} & {name.split(".")[0] for name in imports(path)}
    ]
    assert culprits == ["trainop/operator/probes.py"]


def test_no_line_of_the_house_names_a_dialect() -> None:
    """What knows of the kinds of 2017 is in frameworks/: everything else serves whatever it is given."""
    words = ("mlkube", "tensorflow.org", "runtimeid", "2017")
    culprits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in python_files("trainop")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\b(TfJob|MxJob)\b", line) or any(word in line.lower() for word in words)
    ]
    assert culprits == []


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    folders = ("trainop", "frameworks", "tests", "tools", "bench")
    sizes = {path: len(path.read_text().splitlines()) for folder in folders for path in python_files(folder)}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > 400} == {}


@pytest.mark.parametrize("name", ["pytorch", "xgboost"])
def test_a_plain_framework_takes_less_than_120_lines_with_its_spec(name: str) -> None:
    assert sum(len(path.read_text().splitlines()) for path in python_files(f"frameworks/{name}")) < 120


def test_every_file_says_in_its_first_line_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for folder in ("trainop", "frameworks", "tests", "tools", "bench")
        for path in python_files(folder)
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_the_map_in_the_package_names_every_room() -> None:
    told = ast.get_docstring(ast.parse((ROOT / "trainop" / "__init__.py").read_text())) or ""
    rooms = {room(path) for path in python_files("trainop")} - {"__init__"}
    assert {name for name in rooms if f"{name}.py" not in told and f"{name}/" not in told} == set()


def test_every_suppression_names_its_rule_and_its_reason() -> None:
    git = ["git", "ls-files", "*.py"]
    tracked = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - no input
    culprits = []
    for name in tracked.stdout.split():
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            for mark in ("# noqa", "# type: ignore"):
                told = line.partition(mark)[2]
                if (
                    told
                    and mark not in line.partition('"')[2]
                    and (told[0] not in ":[" or len(told.split()) < 3)
                ):
                    culprits.append(f"{name}:{number}")
    assert culprits == []
