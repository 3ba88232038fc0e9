"""What stands in an example's folder fits together; no training."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.build import Unavailable
from tests.cluster.progress import Progress
from tools.demo import VICTIMS, sparkline
from tools.environments import EXAMPLES, MXNET, ROOT, TENSORFLOW, Example, environment
from tools.training import Training
from trainop.framework import Framework
from trainop.parse import parse
from trainop.registry import frameworks

each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)


def read(example: Example, name: str) -> str:
    return (example.folder / name).read_text()


def job(example: Example) -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((ROOT / example.file).read_text())
    return told


def framework(example: Example) -> Framework[Any]:
    return next(known for known in frameworks().values() if known.name == example.folder.name)


def containers(example: Example) -> list[dict[str, Any]]:
    replicas = job(example)["spec"][framework(example).replicas_field].values()
    return [container for replica in replicas for container in replica["template"]["spec"]["containers"]]


@each
def test_the_job_has_no_mistakes(example: Example) -> None:
    assert not parse(framework(example), job(example), strict=True).problems


def test_the_job_with_an_evaluator_is_the_plain_one_with_more() -> None:
    more: dict[str, Any] = yaml.safe_load(read(TENSORFLOW, "tfjob_evaluator.yaml"))
    assert not parse(framework(TENSORFLOW), more, strict=True).problems
    plain, field = job(TENSORFLOW), framework(TENSORFLOW).replicas_field
    assert more["spec"][field].keys() - plain["spec"][field].keys() == {"Evaluator"}
    for replica in more["spec"][field].values():
        (container,) = replica["template"]["spec"]["containers"]
        assert container["image"] == TENSORFLOW.image
        assert container["command"] == ["python", "/opt/train/train.py"]


@each
def test_a_builder_sees_what_the_dockerfile_copies_and_nothing_else(example: Example) -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", read(example, "Dockerfile"), re.MULTILINE)
    ignored = [line for line in read(example, ".dockerignore").splitlines() if not line.startswith("#")]
    assert ignored == ["*", *(f"!{name}" for name in copied)]


@each
def test_the_script_compiles(example: Example) -> None:
    compile(read(example, "train.py"), "train.py", "exec")


@each
def test_all_members_run_the_script_in_the_image_that_the_dockerfile_makes(example: Example) -> None:
    file = read(example, "Dockerfile")
    assert f"docker build -t {example.image} {example.folder.relative_to(ROOT)}\n" in file
    assert {container["image"] for container in containers(example)} == {example.image}
    assert {tuple(c["command"]) for c in containers(example)} == {("python", "/opt/train/train.py")}
    assert "\nCOPY train.py /opt/train/\n" in file
    assert f"\nEXPOSE {framework(example).port}\n" in file


@each
def test_the_image_holds_what_is_locked_and_runs_as_nobody(example: Example) -> None:
    file = read(example, "Dockerfile")
    assert "\nCOPY requirements.lock /\n" in file
    assert "install --quiet --require-hashes -r /requirements.lock\n" in file
    assert "\nUSER 65532:65532\n" in file.rpartition("\nFROM ")[2]
    base = re.search(r"^ARG BASE_IMAGE=python:([0-9.]+)-slim$", file, re.MULTILINE)
    assert base
    assert base[1] in example.pythons


@each
def test_what_is_required_is_locked_with_hashes(example: Example) -> None:
    required = re.findall(r"^([a-z][a-z-]*)", read(example, "requirements.in"), re.MULTILINE)
    lock = read(example, "requirements.lock")
    locked = re.findall(r"^([a-z0-9.-]+)==\S+( ;.*?)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert set(required) <= {name for name, _ in locked}
    assert len(locked) == len(re.findall(r"^[a-z]", lock, re.MULTILINE))
    assert "index-url" not in lock


@each
def test_the_readme_shows_the_command_that_the_demo_runs(example: Example) -> None:
    words = Training(example, Path("VENV"), Path("run")).words
    shown = " ".join(read(example, "README.md").replace("\\\n", " ").split())
    assert " ".join(words) in shown


def test_a_python_that_no_wheel_fits_is_told_in_one_line() -> None:
    nothing = Progress(lambda text: None, terminal=False)
    with pytest.raises(Unavailable, match=r"^MXNet has wheels for Python 2\.6 only.*install one.*\.$"):
        environment(replace(MXNET, pythons=("2.6",)), nothing)


def test_a_sparkline_falls_with_the_losses() -> None:
    assert sparkline([8, 4, 2, 1]) == "█▆▃▁"
    assert sparkline([1, 1]) == "▁▁"
    assert sparkline([]) == ""
    assert len(sparkline([float(n) for n in range(1, 100)])) == 20


def test_the_recording_shows_both_trainings_as_the_demo_runs_them_and_nothing_of_the_machine() -> None:
    picture = (ROOT / "docs" / "demo.svg").read_text()
    lines = re.findall(r"<text[^>]*>(.*?)</text>", picture)
    shown = " ".join(html.unescape(" ".join(lines)).split())
    for example in (TENSORFLOW, MXNET):
        command, _, _ = " ".join(Training(example, Path("VENV"), Path("run")).words).partition("=VENV")
        assert command in shown
    assert all(
        victim.split("-", 2)[2] + " ended with code 137 (SIGKILL)" in shown for victim in VICTIMS.values()
    )
    assert len(re.findall(r"(TensorFlow|MXNet) Succeeded", shown)) == 2
    assert "No process is left." in shown
    assert not re.search(r"/(root|home|tmp|var|work)/|url\(\W?http", picture)
