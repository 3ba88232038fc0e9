"""What cannot be run is told in one line that says what to do, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from tests.local.runs import Desk, container, role, tfjob
from trainop.cli import main
from trainop.kube.port import Raw

GOOD = tfjob(Chief=role("print('hello')"))
Change = Callable[[Raw], Any]


def of(change: Change) -> Raw:
    job = tfjob(Chief=role("print('hello')"))
    change(job)
    return job


def spec(job: Raw) -> Raw:
    found: Raw = job["spec"]
    return found


def of_container(**fields: Any) -> Raw:
    return tfjob(Chief={"template": {"spec": {"containers": [container("print('hello')", **fields)]}}})


def of_pod(volume: Raw, mount: Raw) -> Raw:
    own = container("print('hello')", volumeMounts=[mount])
    return tfjob(Chief={"template": {"spec": {"containers": [own], "volumes": [volume]}}})


FIRST = "spec.tfReplicaSpecs.Chief.template.spec.containers[0]"
NO_COMMAND = tfjob(Chief={"template": {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}})
CASES: dict[str, tuple[Raw, list[str], str]] = {
    "no command": (
        NO_COMMAND,
        [],
        f"job.yaml cannot be run here: {FIRST} has no command: "
        "images are not pulled here, so add the command to run",
    ),
    "a folder that is not here": (
        of_container(workingDir="/far/away"),
        [],
        f"job.yaml cannot be run here: {FIRST} works in /far/away, "
        "which is not here: pass --mount /far/away=FOLDER",
    ),
    "an init container whose name is a path": (
        tfjob(Chief=role("print('hello')", pod={"initContainers": [container("", name="../x")]})),
        [],
        "job.yaml cannot be run here: spec.tfReplicaSpecs.Chief.template.spec.initContainers[0].name "
        "must consist of lower-case letters, digits and -",
    ),
    "a volume beside the folder of the run": (
        of_pod({"name": "v", "emptyDir": {}}, {"name": "v", "mountPath": "/x", "subPath": "../../y"}),
        [],
        f"job.yaml cannot be run here: {FIRST}: the subPath of the volume at /x must be a path below it, "
        "without `..`",
    ),
    "a volume whose name is a path": (
        of_pod({"name": "../v", "emptyDir": {}}, {"name": "../v", "mountPath": "/x"}),
        [],
        f"job.yaml cannot be run here: {FIRST}: the name of the volume at /x must consist of lower-case letters, "
        "digits and -",
    ),
    "suspended": (
        of(lambda job: spec(job).update(runPolicy={"suspend": True})),
        [],
        "TFJob job is suspended, so nothing would run: set spec.runPolicy.suspend to false",
    ),
    "someone else's": (
        of(lambda job: spec(job).update(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})),
        [],
        "TFJob job is managed by kueue.x-k8s.io/multikueue: remove spec.runPolicy.managedBy to run it here",
    ),
    "a mount without a folder": (GOOD, ["--mount", "/app"], "--mount /app: write PATH=FOLDER"),
    "a mount of a folder that is not there": (
        GOOD,
        ["--mount", "/app=/no/where"],
        "--mount /app=/no/where: /no/where does not exist",
    ),
    "a mount below nothing": (GOOD, ["--mount", "app=."], "--mount app=.: app must begin with /"),
    "a variable without a value": (GOOD, ["--env", "A"], "--env A: write NAME=VALUE"),
    "an interpreter that is not there": (
        GOOD,
        ["--python", "/no/python"],
        "--python /no/python: /no/python is no interpreter and no virtual environment",
    ),
    "a role that the job has not": (
        GOOD,
        ["--scale", "Worker=2"],
        "--scale Worker=2: the job has no such role; it has Chief",
    ),
    "a number that is none": (
        GOOD,
        ["--scale", "Chief=many"],
        "--scale Chief=many: write ROLE=N, such as Worker=2",
    ),
}


def told(desk: Desk, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; nothing gets so far as to start a process."""
    monkeypatch.chdir(desk.folder)
    result = CliRunner().invoke(main, desk.argv(*options)[1:])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_run_is_told_in_one_line(
    desk: Desk, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, options, message = CASES[case]
    desk.write(job)
    assert told(desk, monkeypatch, *options) == (2, "", f"trainop: {message}\n")
    assert not desk.run_dir.exists()


MISTAKES: dict[str, tuple[Raw, str]] = {
    "a field nobody knows": (
        of(lambda job: spec(job).update(tfReplicaSpec={})),
        "spec.tfReplicaSpec: unknown field",
    ),
    "a kind nobody knows": (of(lambda job: job.update(kind="TFJobs")), "kind: "),
    "words that are no text": (of_container(args=["--steps", 100]), f"{FIRST}.args[1]: must be text"),
    "a command that is no list": (
        of_container(command="python train.py"),
        f"{FIRST}.command: must be a list",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told_with_their_place_as_by_validate(
    desk: Desk, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, words = MISTAKES[case]
    desk.write(job)
    code, stdout, stderr = told(desk, monkeypatch)
    assert (code, stdout) == (2, "")
    assert re.match(rf"job\.yaml:\d+:\d+: {re.escape(words)}", stderr)
    assert not desk.run_dir.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "trainop: job.yaml: there is no job in it"),
        ("- a\n", "job.yaml:1:1: "),
        ("a: [\n", "job.yaml:2:1: "),
        (None, "trainop: job.yaml"),
    ],
)
def test_a_file_that_is_no_job_is_told(
    desk: Desk, text: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (desk.folder / "job.yaml").write_text(text)
    code, _, stderr = told(desk, monkeypatch)
    assert code == 2
    assert stderr.startswith(words)


def test_a_time_that_is_none_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(GOOD)
    code, _, stderr = told(desk, monkeypatch, "--timeout", "soon")
    assert code == 2
    assert "'soon' is no duration; write 15s, 10m or 1h30m" in stderr


def test_a_run_takes_one_job(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(GOOD)
    file = desk.folder / "job.yaml"
    file.write_text(f"{file.read_text()}\n---\n{file.read_text()}")
    assert told(desk, monkeypatch) == (2, "", "trainop: job.yaml has 2 jobs: a run takes one\n")


def test_a_folder_that_holds_something_is_not_used(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(GOOD)
    desk.run_dir.mkdir()
    (desk.run_dir / "mine").touch()
    message = f"--run-dir {desk.run_dir} holds something already: name a new or an empty folder"
    assert told(desk, monkeypatch) == (2, "", f"trainop: {message}\n")
