"""The commands that ask about jobs, where no cluster is needed: mistakes, files, local runs, what fits the screen."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.builders import TF, Raw, a_condition, a_manifest, a_status, later
from tests.explain.scenes import RUNNING, a_pod, a_scene, an_event, ended, looping
from trainop import cli
from trainop.cli import text, view
from trainop.cli.options import Seconds
from trainop.cli.subject import subject
from trainop.cli.waiting import judge
from trainop.kube.find import Wanted

COMMANDS = ("status", "logs", "wait", "explain", "suspend", "resume", "delete")
FAILED = a_status(
    "Created",
    a_condition("Failed", message="TFJob ns/mnist has failed because 1 Worker replica(s) failed."),
    start_time=later(0),
    completion_time=later(60),
)


def trainop(*words: str, **env: str) -> Result:
    return CliRunner().invoke(cli.main, words, env=env)


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of a cluster that does not answer: the port is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{taken.getsockname()[1]}"
        config = {
            "clusters": [{"name": "a", "cluster": {"server": server}}],
            "users": [{"name": "a", "user": {}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "current-context": "a",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config))
        yield path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_cluster_that_does_not_answer_is_one_line_and_a_three(command: str, nowhere: Path) -> None:
    result = trainop(command, "mnist", "--kubeconfig", str(nowhere))
    assert result.exit_code == 3
    assert result.stderr.startswith("trainop: the API server cannot be reached ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [*COMMANDS, "doctor"])
def test_a_kubeconfig_that_is_not_there_is_one_line_and_a_three(command: str, tmp_path: Path) -> None:
    words = [] if command == "doctor" else ["mnist"]
    result = trainop(command, *words, "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 3
    assert result.stderr == f"trainop: there is no kubeconfig {tmp_path / 'none'}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_eighty_columns(command: str) -> None:
    assert [line for line in trainop(command, "--help").stdout.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["status", "none.yaml"], "none.yaml cannot be read: No such file or directory"),
        (["status", "empty.yaml"], "empty.yaml holds no jobs, not one; known kinds: "),
        (["delete", "two.yaml"], "two.yaml holds 2 jobs, not one; known kinds: "),
        (["suspend", "bad.yaml"], "bad.yaml is no YAML: "),
        (["wait", "nameless.yaml"], "the job in nameless.yaml has no metadata.name: "),
        (["status", "folder/"], "folder/ is no run directory (it holds no state.json) and no name of a job"),
        (
            ["status", "./folder"],
            "./folder is no run directory (it holds no state.json) and no name of a job",
        ),
        (["status", "/folder"], "/folder is no run directory (it holds no state.json) and no name of a job"),
        (["status", "a/b/c"], "a/b/c is no run directory (it holds no state.json) and no name of a job"),
        (["status", "pod/x"], "no job kind is called pod; there are: "),
        (["delete", "run"], "run is a local run: this command is for jobs in a cluster"),
        (["logs", "run", "-f"], "the logs of a local run are files"),
        (["explain", "run/other"], "there is no local run of other in "),
        (["status", "broken"], "broken cannot be read as a local run: "),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_a_two(
    words: list[str], complaint: str, tmp_path: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = json.dumps(a_manifest(TF, Worker=1))
    Path("empty.yaml").touch()
    Path("two.yaml").write_text(f"{job}\n---\n{job}\n")
    Path("bad.yaml").write_text("a: [")
    Path("nameless.yaml").write_text(json.dumps(a_manifest(TF, metadata={"name": None}, Worker=1)))
    Path("folder").mkdir()
    a_run(Path("run"))
    Path("broken").mkdir()
    Path("broken/state.json").write_text("{}")
    result = trainop(*words, "--kubeconfig", str(nowhere), XDG_STATE_HOME=str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"trainop: {complaint}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("made", [Path.touch, Path.mkdir])
def test_a_name_is_a_name_whatever_lies_in_the_folder(
    made: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made(Path("mnist"))
    assert subject("mnist") == Wanted("mnist")
    assert subject("tfj/mnist") == Wanted("mnist", "tfj")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["status", "-w"], "name the job to watch"),
        (["status", "mnist", "-A"], "-A goes without a job"),
        (["logs", "mnist", "-f", "--previous"], "cannot be followed"),
        (["wait", "mnist", "--timeout", "soon"], "'soon' is no duration; write 15s, 10m or 1h30m"),
        (["logs", "mnist", "--since", "-5"], "'-5' is no duration"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(words: list[str], complaint: str) -> None:
    result = trainop(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("text", "seconds"), [("15", 15), ("15s", 15), ("1m30s", 90), ("1.5h", 5_400), ("2d", 172_800)]
)
def test_a_duration_may_have_units(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0", "m", "5x", "1h 5m", "s5"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)


# --- waiting ------------------------------------------------------------------------------------------------

STATES = {
    "new": a_status(),
    "running": a_status("Created", "Running"),
    "succeeded": a_status("Created", "!Running", "Succeeded"),
    "failed": a_status("Created", "!Running", "Failed"),
    "suspended": a_status("Created", "Suspended"),
}


@pytest.mark.parametrize(
    ("goal", "yes", "never"),
    [
        ("succeeded", {"succeeded"}, {"failed", "deleted"}),
        ("failed", {"failed"}, {"succeeded", "deleted"}),
        ("finished", {"succeeded", "failed"}, {"deleted"}),
        ("running", {"running", "succeeded"}, {"failed", "deleted"}),
        ("deleted", {"deleted"}, set()),
        ("Suspended", {"suspended"}, {"succeeded", "failed", "deleted"}),
    ],
)
def test_what_is_waited_for_has_come_may_come_or_cannot_come(
    goal: str, yes: set[str], never: set[str]
) -> None:
    seen = {name: a_scene(status=status, Worker=1) for name, status in STATES.items()} | {"deleted": None}
    verdicts = {name: judge(goal, evidence, "it") for name, evidence in seen.items()}
    assert {name for name, verdict in verdicts.items() if verdict and verdict.reached} == yes
    assert {name for name, verdict in verdicts.items() if verdict and not verdict.reached} == never


# --- local runs ---------------------------------------------------------------------------------------------


def a_run(path: Path) -> Path:
    """A local run that failed: worker 0 was started twice."""
    logs = path / "logs" / "mnist-worker-0"
    logs.mkdir(parents=True)
    (logs / "tensorflow.0.log").write_text("step 1\nlost\n")
    (logs / "tensorflow.1.log").write_text("step 1\nKeyError: 'loss'\n")
    pods = [
        a_pod("Worker", phase="Failed", container=ended(1)),
        a_pod("PS", phase="Running", container=RUNNING),
    ]
    state = {
        "job": a_manifest(TF, status=FAILED, restart="ExitCode", PS=1, Worker=1),
        "pods": pods,
        "services": [],
        "events": [an_event("mnist", "TFJobFailed", "it has failed")],
    }
    (path / "state.json").write_text(json.dumps(state))
    return path


def test_a_local_run_is_explained_with_the_last_words_of_its_program(tmp_path: Path) -> None:
    result = trainop("explain", str(a_run(tmp_path / "run")), "-o", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["findings"][0]
    assert found["message"] == (
        "worker-0 has failed with exit code 1: the program failed; its last lines say why."
    )
    assert found["evidence"][-1] == "worker-0 | KeyError: 'loss'"


def test_the_last_run_of_a_name_is_found_where_runs_are_kept(tmp_path: Path) -> None:
    for number in (1, 2):
        a_run(tmp_path / "trainop-runs" / f"mnist-{number}")
        os.utime(tmp_path / "trainop-runs" / f"mnist-{number}" / "state.json", (number, number))
    (tmp_path / "trainop-runs" / "mnist-2" / "logs" / "mnist-worker-0" / "tensorflow.1.log").write_text(
        "new\n"
    )
    result = trainop("logs", "run/mnist", "--tail", "1", XDG_STATE_HOME=str(tmp_path))
    assert result.stdout == "worker-0 | lost\nworker-0 | new\n"


def test_the_logs_of_a_local_run_tell_the_attempt(tmp_path: Path) -> None:
    run = str(a_run(tmp_path / "run"))
    lines = [json.loads(line) for line in trainop("logs", run, "-o", "json").stdout.splitlines()]
    assert [(line["attempt"], line["message"]) for line in lines] == [
        (0, "step 1"),
        (0, "lost"),
        (1, "step 1"),
        (1, "KeyError: 'loss'"),
    ]
    assert trainop("logs", run, "--previous").stdout == "worker-0 | step 1\nworker-0 | lost\n"


def test_the_status_of_a_local_run_is_that_of_a_job(tmp_path: Path) -> None:
    answer: Any = json.loads(trainop("status", str(a_run(tmp_path / "run")), "-o", "json").stdout)
    assert (answer["state"], answer["status"]) == ("Failed", FAILED.wire())
    assert {row["role"]: row["exitCode"] for row in answer["members"]} == {"PS": None, "Worker": 1}


def test_watching_a_local_run_that_is_over_ends_at_once(tmp_path: Path) -> None:
    result = trainop("status", str(a_run(tmp_path / "run")), "-w")
    assert (result.exit_code, result.stdout) == (
        0,
        "TFJob ns/mnist: Failed (PS 1/1, Worker 0/1; worker-0 failed)\n",
    )


# --- files --------------------------------------------------------------------------------------------------


def test_a_file_is_explained_without_a_cluster(tmp_path: Path, nowhere: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(a_manifest(TF, Worker=1, Wroker=1)))
    result = trainop("explain", str(file), "--kubeconfig", str(nowhere))
    assert result.exit_code == 0
    assert "there is one mistake in it" in " ".join(result.stdout.split())
    assert "spec.tfReplicaSpecs.Wroker" in result.stdout
    file.write_text(json.dumps(a_manifest(TF, Worker=1)))
    result = trainop("explain", str(file), "--kubeconfig", str(nowhere), "-o", "json")
    assert json.loads(result.stdout)["findings"][0]["cause"] == "NotSubmitted"


# --- the screen ---------------------------------------------------------------------------------------------


def test_on_a_terminal_no_line_is_wider_than_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    pods: list[Raw] = [a_pod("Worker", i, phase="Running", container=looping(137, 3)) for i in range(2)]
    pods[1]["spec"]["nodeName"] = "ip-10-0-0-1.a-region-with-a-long-name.compute.internal"
    told = an_event("mnist-worker-0", "BackOff", "Back-off restarting failed container tensorflow " * 3)
    lines = view.lines(a_scene(*pods, status=a_status("Created"), events=(told,), Worker=2))
    assert [line for line in map(click.unstyle, lines) if len(line) > 80] == []
    assert any(line.endswith("…") for line in lines)


def test_what_a_program_wrote_does_not_command_the_terminal() -> None:
    assert text.wrapped("\x1b[2Jgone\x07") == [" [2Jgone"]


def test_colour_is_for_terminals_and_not_where_it_is_unwanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(a_run(tmp_path / "run"))

    def coloured(**env: str) -> bool:
        return "\x1b[31m" in CliRunner().invoke(cli.main, ["status", run], color=True, env=env).stdout

    assert coloured()
    assert not coloured(NO_COLOR="1")
    assert "\x1b" not in trainop("status", run).stdout
