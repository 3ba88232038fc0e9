"""Whole runs of the command: what members are told, how the job ends, what is shown and kept."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.local.runs import FOREVER, Desk, container, role, tfjob

pytestmark = pytest.mark.thorough
SHOW = "import os, sys; print(os.environ.get(sys.argv[1], 'unset'))"
ONCE = (
    "import os, signal\n"
    "if not os.path.exists('tried'):\n"
    "    open('tried', 'w').close(); print('dying', flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    "print('done')"
)


def lines(output: str) -> list[str]:
    """Without the time they begin with."""
    return [re.sub(r"^\d\d:\d\d:\d\d +", "", line).rstrip() for line in output.splitlines()]


def test_members_find_each_other_at_addresses_of_this_machine(desk: Desk) -> None:
    show = ["python3", "-c", SHOW, "TF_CONFIG"]
    run = desk.run(tfjob(Chief=role(show), PS=role(FOREVER), Worker=role(show, replicas=2)))
    assert run.returncode == 0, run.stdout + run.stderr
    config = json.loads(desk.log("chief-0"))
    assert config["task"] == {"type": "chief", "index": 0}
    hosts = [host for role in ("chief", "ps", "worker") for host in config["cluster"][role]]
    assert len(set(hosts)) == 4
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+", host) for host in hosts)


def test_an_mxjob_is_told_that_all_its_members_are_on_one_machine(desk: Desk) -> None:
    script = "import os; print(*(os.environ[n] for n in ('DMLC_NODE_HOST', 'DMLC_PS_ROOT_URI', 'DMLC_ROLE')))"
    own = {"name": "mxnet", "image": "mx", "command": ["python3", "-c", script]}
    member = {"template": {"spec": {"containers": [own]}}}
    other = {**own, "env": [{"name": "DMLC_NODE_HOST", "value": "127.0.0.9"}]}
    replicas = {
        "Scheduler": member,
        "Server": {"template": {"spec": {"containers": [other]}}},
        "Worker": member,
    }
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MXJob",
        "metadata": {"name": "job"},
        "spec": {"jobMode": "MXTrain", "runPolicy": {"cleanPodPolicy": "None"}, "mxReplicaSpecs": replicas},
    }
    assert desk.run(job).returncode == 0
    assert desk.log("scheduler-0", container="mxnet") == "127.0.0.1 127.0.0.1 scheduler\n"
    if written := desk.log("server-0", container="mxnet"):  # it may have been stopped before
        assert written == "127.0.0.9 127.0.0.1 server\n"


def test_a_member_that_is_killed_is_replaced_and_told(desk: Desk) -> None:
    run = desk.run(tfjob(Chief=role(ONCE, restartPolicy="ExitCode")))
    assert run.returncode == 0
    assert (desk.log("chief-0", 0), desk.log("chief-0", 1)) == ("dying\n", "done\n")
    story = [line for line in lines(run.stdout) if line.startswith("chief-0")]
    assert story == [
        "chief-0  started",
        "chief-0  ended with code 137 (SIGKILL)",
        "chief-0  started",
        "chief-0  ended with code 0",
    ]
    assert desk.state()["job"]["status"]["restartCount"] == 1


def test_a_job_that_fails_ends_with_1_and_shows_the_end_of_the_log(desk: Desk) -> None:
    script = "import sys; [print('line', n) for n in range(20)]; sys.exit('out of luck')"
    run = desk.run(tfjob(Chief=role(script)))
    assert run.returncode == 1
    log = desk.run_dir / "logs" / "job-chief-0" / "tensorflow.0.log"
    told = run.stdout.splitlines()
    start = told.index("chief-0 ended with code 1; the end of its log:")
    shown = [*(f"  line {n}" for n in range(11, 20)), "  out of luck", f"all of it: {log}"]
    assert told[start + 1 : start + 12] == shown
    assert told[-1] == "TFJob default/job has failed because 1 Chief replica(s) failed."


def test_a_crash_loop_ends_at_the_backoff_limit_and_shows_the_log(desk: Desk) -> None:
    job = tfjob(
        policy={"backoffLimit": 1}, Chief=role("raise SystemExit('broken')", restartPolicy="OnFailure")
    )
    run = desk.run(job)
    assert run.returncode == 1
    assert "  broken" in run.stdout.splitlines()
    assert (
        run.stdout.splitlines()[-1] == "Job job has failed because it has reached the specified backoff limit"
    )


def test_the_status_in_json_is_that_of_a_cluster_and_alone_on_stdout(desk: Desk) -> None:
    run = desk.run(tfjob(Chief=role("print('hello')")), "-o", "json")
    job = json.loads(run.stdout)
    assert [(c["type"], c["status"]) for c in job["status"]["conditions"]] == [
        ("Created", "True"),
        ("Running", "False"),
        ("Succeeded", "True"),
    ]
    assert job["status"]["replicaStatuses"]["Chief"]["succeeded"] == 1
    assert desk.state()["job"] == job
    assert "chief-0  started" in lines(run.stderr)


def test_the_folder_keeps_pods_services_and_events_also_of_those_that_are_gone(desk: Desk) -> None:
    assert desk.run(tfjob(policy={"cleanPodPolicy": "All"}, Chief=role("print('hello')"))).returncode == 0
    state = desk.state()
    (pod,) = state["pods"]
    assert (pod["metadata"]["name"], pod["status"]["phase"]) == ("job-chief-0", "Succeeded")
    assert [service["metadata"]["name"] for service in state["services"]] == ["job-chief-0"]
    assert {"SuccessfulCreatePod", "TFJobSucceeded"} <= {event["reason"] for event in state["events"]}
    assert "Succeeded" in (desk.run_dir / "trainop.log").read_text()


def test_a_run_is_kept_in_the_users_own_folder_unless_another_is_named(desk: Desk) -> None:
    desk.named = False
    run = desk.run(tfjob(Chief=role("print('hello')")))
    (folder,) = (desk.folder / "xdg" / "trainop-runs").iterdir()
    assert re.fullmatch(r"job-\d{8}-\d{6}", folder.name)
    assert f"  {folder}" in run.stdout.splitlines()
    assert (folder / "logs" / "job-chief-0" / "tensorflow.0.log").read_text() == "hello\n"


def test_the_logs_are_interleaved_under_the_names_of_their_members(desk: Desk) -> None:
    run = desk.run(tfjob(Chief=role("print('one'); print('two')")), "--tail")
    assert [line for line in run.stdout.splitlines() if " | " in line] == ["chief-0 | one", "chief-0 | two"]


def test_members_get_mounts_variables_and_the_interpreter_that_are_named(desk: Desk) -> None:
    (desk.folder / "src").mkdir()
    (desk.folder / "src" / "train.py").write_text(
        "import os, sys; print(os.environ['A'], os.getcwd(), sys.executable)"
    )
    own = container(["python", "/app/train.py"], workingDir="/app", env=[{"name": "A", "value": "job"}])
    run = desk.run(
        tfjob(Chief={"template": {"spec": {"containers": [own]}}}),
        *("--mount", "/app=src", "--env", "A=option", "--python", f"example/train:1={sys.executable}"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert desk.log("chief-0").split() == ["option", str(desk.folder / "src"), sys.executable]


def test_a_virtual_environment_is_an_interpreter_too(desk: Desk) -> None:
    run = desk.run(
        tfjob(Chief=role(["python", "-c", "import sys; print(sys.prefix)"])),
        "--python",
        str(Path(sys.prefix)),
    )
    assert run.returncode == 0
    assert desk.log("chief-0").strip() == sys.prefix


def test_a_job_is_made_to_measure(desk: Desk) -> None:
    job = tfjob(Chief=role("print('hello')"), Worker=role(FOREVER, replicas=5))
    assert desk.run(job, "--scale", "worker=1", "--scale", "Chief=1").returncode == 0
    assert sorted(pod["metadata"]["name"] for pod in desk.state()["pods"]) == ["job-chief-0", "job-worker-0"]


def test_what_is_different_here_is_said_once_with_what_to_pass(desk: Desk) -> None:
    own = container(
        "print('hello')",
        resources={"limits": {"nvidia.com/gpu": 1}},
        volumeMounts=[{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/scratch"}],
        env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        envFrom=[{"configMapRef": {"name": "c"}}],
    )
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}, {"name": "tmp", "emptyDir": {}}]
    member = {"template": {"spec": {"containers": [own], "volumes": volumes}}}
    run = desk.run(tfjob(Chief=member, Worker=member))
    assert run.returncode == 0, run.stderr
    assert [line for line in run.stdout.splitlines() if line.startswith("note: ")] == [
        "note: images are not pulled (example/train:1): commands run as they are on this machine, with the python "
        "on PATH, or another one: --python IMAGE=PATH",
        "note: resources are not enforced: nvidia.com/gpu",
        "note: the volume at /data is not here: pass --mount /data=FOLDER",
        "note: envFrom is not read: pass what the job needs of it with --env NAME=VALUE",
        "note: the value of KEY is kept in the cluster: pass --env KEY=VALUE",
    ]


def test_what_was_passed_is_not_asked_for(desk: Desk) -> None:
    own = container(
        "print('hello')",
        volumeMounts=[{"name": "data", "mountPath": "/data/in"}],
        env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    )
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]
    job = tfjob(Chief={"template": {"spec": {"containers": [own], "volumes": volumes}}})
    run = desk.run(job, "--mount", "/data=.", "--env", "KEY=v", "--python", sys.executable)
    assert "note:" not in run.stdout


def test_a_tensorboard_does_not_keep_the_run_unless_it_is_to(desk: Desk) -> None:
    job = tfjob(Chief=role("print('hello')"))
    job["spec"]["tensorboard"] = {"logDir": "/logs"}
    run = desk.run(job)
    assert run.returncode == 0
    assert "job-tensorboard" in {pod["metadata"]["name"] for pod in desk.state()["pods"]}


def test_a_time_to_live_does_not_change_how_the_run_ends(desk: Desk) -> None:
    job = tfjob(policy={"ttlSecondsAfterFinished": 0}, Chief=role("print('hello')"), Worker=role(FOREVER))
    assert desk.run(job).returncode == 0
    assert desk.state()["job"]["status"]["conditions"][-1]["type"] == "Succeeded"


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "NO_COLOR", "CI"])
def test_without_a_terminal_there_is_no_colour_and_no_table(desk: Desk, variable: str) -> None:
    run = desk.run(tfjob(Chief=role("print('hello')")), **{variable: "1"})
    assert "\x1b" not in run.stdout
    assert "LAST LOG LINE" not in run.stdout


def test_a_generated_name_is_made_here(desk: Desk) -> None:
    job = tfjob(Chief=role("print('hello')"))
    job["metadata"] = {"generateName": "gen-"}
    run = desk.run(job, "-o", "json")
    assert re.fullmatch(r"gen-\w{5}", json.loads(run.stdout)["metadata"]["name"])
