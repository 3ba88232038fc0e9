"""TfJob of 2017: names, TF_CONFIG, the chief, the status and every refusal. legacy §1, §2, §3 and its fixtures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.dialects import a_raw, a_replica, dialect, env, made, on_the_page, reason, told
from trainop.framework import Framework
from trainop.parse import parse
from trainop.rules import any_name_message

TFJOB = dialect("tensorflow.org", "TfJob")
OLDER = dialect("mlkube.io", "TfJob")


def replica(type_: str | None = None, **fields: Any) -> dict[str, Any]:
    return a_replica("tensorflow", **({"tfReplicaType": type_} if type_ else {}), **fields)


MASTER, WORKER = replica("MASTER", replicas=1), replica("WORKER", replicas=1)
PS = {"replicas": 2, "tfReplicaType": "PS"}
EXAMPLE = a_raw(TFJOB, MASTER, WORKER, PS, RuntimeId="76no")
CLUSTER = (
    '{"cluster":{"master":["master-76no-0:2222"],"ps":["ps-76no-0:2222","ps-76no-1:2222"],'
    '"worker":["worker-76no-0:2222"]},'
)


# --- children: legacy C1, C2 --------------------------------------------------------------------------------


def test_the_example_of_seed_000_has_the_children_of_2017() -> None:
    """legacy C1."""
    pods, services = made(TFJOB, parse(TFJOB, EXAMPLE))
    assert list(pods) == ["master-76no-0", "worker-76no-0", "ps-76no-0", "ps-76no-1"]
    assert list(services) == list(pods)
    assert env(pods["ps-76no-1"])["TF_CONFIG"] == (
        CLUSTER + '"task":{"type":"ps","index":1},"environment":"cloud"}'
    )
    labels = pods["ps-76no-1"]["metadata"]["labels"]
    ours = {"tensorflow.org": "", "job_type": "PS", "runtime_id": "76no", "task_index": "1"}
    assert (ours | {"tf_job_name": "example-job"}).items() <= labels.items()
    service = services["master-76no-0"]["spec"]
    assert [(port["name"], port["port"]) for port in service["ports"]] == [("tf-port", 2222)]
    assert service["selector"].items() <= pods["master-76no-0"]["metadata"]["labels"].items()


def test_labels_of_the_older_group_do_not_name_the_job() -> None:
    """legacy §2.2."""
    pods, _ = made(OLDER, parse(OLDER, a_raw(OLDER, MASTER, RuntimeId="1234")))
    labels = pods["master-1234-0"]["metadata"]["labels"]
    assert labels["mlkube.io"] == ""
    assert "tf_job_name" not in labels


def test_a_master_alone_is_told_of_itself() -> None:
    """legacy §2.4: TF_CONFIG is always set."""
    pods, _ = made(TFJOB, parse(TFJOB, a_raw(TFJOB, MASTER, RuntimeId="pj6i")))
    assert env(pods["master-pj6i-0"])["TF_CONFIG"] == (
        '{"cluster":{"master":["master-pj6i-0:2222"]},"task":{"type":"master","index":0},"environment":"cloud"}'
    )


def test_each_type_has_its_own_port() -> None:
    """legacy §2.4."""
    raw = a_raw(
        TFJOB, replica("MASTER", tfPort=42), replica("WORKER", replicas=3, tfPort=40), PS | {"tfPort": 22},
        RuntimeId="r",
    )  # fmt: skip
    pods, services = made(TFJOB, parse(TFJOB, raw))
    assert (
        '"ps":["ps-r-0:22","ps-r-1:22"],"worker":["worker-r-0:40","worker-r-1:40","worker-r-2:40"]'
        in (env(pods["master-r-0"])["TF_CONFIG"])
    )
    assert services["master-r-0"]["spec"]["ports"][0]["port"] == 42


def test_a_tensorboard_is_called_by_the_runtime_id() -> None:
    """legacy C2."""
    board = {"logDir": "/tmp/tensorflow/training_summaries", "serviceType": "LoadBalancer"}  # noqa: S108 - the seed's
    mount = {"mountPath": "/tmp/tensorflow", "name": "azurefile"}  # noqa: S108 - the seed's
    raw = a_raw(TFJOB, replica(), RuntimeId="pj6i", tensorboard=board | {"volumeMounts": [mount]})
    pods, services = made(TFJOB, parse(TFJOB, raw))
    assert set(services) == {"master-pj6i-0", "tensorboard-pj6i"}
    (container,) = pods["tensorboard-pj6i"]["spec"]["containers"]
    assert container["image"] == "tensorflow/tensorflow:1.3.0"
    assert container["command"] == ["tensorboard", "--logdir", board["logDir"], "--host", "0.0.0.0"]  # noqa: S104 - a pod's own
    assert list(container["volumeMounts"]) == [mount]
    service = services["tensorboard-pj6i"]["spec"]
    assert service["type"] == "LoadBalancer"
    assert [(p["name"], p["port"], p["targetPort"]) for p in service["ports"]] == [("tb-port", 80, 6006)]
    assert pods["tensorboard-pj6i"]["metadata"]["labels"]["app"] == "tensorboard"


def test_a_runtime_id_is_made_of_the_uid_and_written_once() -> None:
    raw = a_raw(TFJOB, MASTER, RuntimeId="")
    job, again = parse(TFJOB, raw), parse(TFJOB, raw)
    assert TFJOB.manner.stamp
    stamp = TFJOB.manner.stamp(job)
    assert stamp == TFJOB.manner.stamp(again)
    assert len(stamp["RuntimeId"]) == 4
    raw["spec"]["RuntimeId"] = stamp["RuntimeId"]
    assert TFJOB.manner.stamp(parse(TFJOB, raw)) == {}


def test_a_parameter_server_without_a_template_is_a_plain_one() -> None:
    """legacy §2.6, DECISIONS "PS without a `tensorflow` container"."""
    pods, _ = made(TFJOB, parse(TFJOB, EXAMPLE))
    (container,) = pods["ps-76no-0"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("tensorflow", "tensorflow/tensorflow:1.3.0")
    assert container["command"][:2] == ["python", "-c"]


def test_a_parameter_server_with_other_containers_gets_one_more() -> None:
    beside = {
        "tfReplicaType": "PS",
        "template": {"spec": {"containers": [{"name": "log", "image": "log:1"}]}},
    }
    pods, _ = made(TFJOB, parse(TFJOB, a_raw(TFJOB, MASTER, beside, RuntimeId="r", tfImage="tf:2")))
    names = [(it["name"], it["image"]) for it in pods["ps-r-0"]["spec"]["containers"]]
    assert names == [("log", "log:1"), ("tensorflow", "tf:2")]


def test_a_dumped_default_server_is_made_anew() -> None:
    """Seed 000 prints it with a mount for a ConfigMap that no job has any more."""
    dumped = replica("PS", IsDefaultPS=True)
    dumped["template"]["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "gone", "mountPath": "/ps-server"}
    ]
    pods, _ = made(TFJOB, parse(TFJOB, a_raw(TFJOB, MASTER, dumped, RuntimeId="r")))
    assert "volumeMounts" not in pods["ps-r-0"]["spec"]["containers"][0]


# --- spelling: DECISIONS "key spelling" ---------------------------------------------------------------------


def test_keys_are_read_in_any_spelling_and_the_right_one_is_told() -> None:
    raw = a_raw(TFJOB)
    entry = {"tf_replica_type": "master", "TF_PORT": 99, "Template": MASTER["template"]}
    raw["spec"] = {"replica_specs": [entry], "runtimeid": "abcd", "tensorBoard": {"log_dir": "/logs"}}
    job = parse(TFJOB, raw)
    _, services = made(TFJOB, job)
    assert set(services) == {"master-abcd-0", "tensorboard-abcd"}
    assert services["master-abcd-0"]["spec"]["ports"][0]["port"] == 99
    assert "spec.replica_specs is read as replicaSpecs" in job.remarks
    assert "spec.replica_specs[].TF_PORT is read as tfPort" in job.remarks


def test_of_two_spellings_the_right_one_wins() -> None:
    raw = a_raw(TFJOB, MASTER, RuntimeId="good", runtimeid="bad")
    assert list(made(TFJOB, parse(TFJOB, raw))[0]) == ["master-good-0"]


def test_a_field_that_nobody_reads_is_a_remark_or_with_strict_a_problem() -> None:
    raw = a_raw(TFJOB, MASTER | {"restartPolicy": "Never"})
    assert parse(TFJOB, raw).remarks == ("spec.replicaSpecs[0].restartPolicy is a field that nobody reads",)
    assert list(map(str, parse(TFJOB, raw, strict=True).problems)) == [
        "spec.replicaSpecs[0].restartPolicy: unknown field"
    ]


# --- refusals: legacy §1.2, C6 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "literal"),
    [
        (a_raw(TFJOB, replica("MASTER", replicas=2)), "The MASTER must have Replicas = 1"),
        (
            a_raw(TFJOB, replica("CHIEF")),
            "tfReplicaSpec.TfReplicaType is CHIEF but must be one of [MASTER PS WORKER]",
        ),
        (a_raw(TFJOB, WORKER), "Missing ReplicaSpec for chief: MASTER"),
        (a_raw(TFJOB), "Missing ReplicaSpec for chief: MASTER"),
        (
            a_raw(TFJOB, MASTER, terminationPolicy={"chief": {"replicaName": "CHIEF"}}),
            "Missing ReplicaSpec for chief: CHIEF",
        ),
        (a_raw(TFJOB, MASTER, terminationPolicy={}), "invalid termination policy: it names no chief"),
        (
            a_raw(TFJOB, MASTER, terminationPolicy={"chief": {"replicaName": "MASTER", "replicaIndex": 1}}),
            "invalid termination policy: MASTER has no replica 1",
        ),
        (a_raw(TFJOB, MASTER, tensorboard={"volumes": []}), "tbReplicaSpec.LogDir must be specified"),
        (
            a_raw(TFJOB, a_replica("trainer")),
            "Replica type MASTER is missing a container named tensorflow",
        ),
        (
            a_raw(TFJOB, {"replicas": 1}),
            "Replica is missing Template; give it one with a container named tensorflow",
        ),
        (a_raw(TFJOB, MASTER, MASTER), "Replica type MASTER is there twice: keep one of them"),
    ],
)
def test_a_bad_job_says_why_in_the_words_of_2017(raw: dict[str, Any], literal: str) -> None:
    assert reason(TFJOB, raw) == f"invalid job spec: {literal}"
    assert on_the_page(literal)


def test_what_2017_had_no_words_for_is_told_with_its_place() -> None:
    raw = a_raw(TFJOB, MASTER, replica("WORKER", replicas="two"))
    assert reason(TFJOB, raw) == (
        "invalid job spec: spec.replicaSpecs[1].replicas: must be a whole number, not 'two'"
    )


def test_a_number_of_replicas_that_is_none_is_told_also_where_one_of_them_is_the_chief() -> None:
    chief = {"chief": {"replicaName": "WORKER", "replicaIndex": 0}}
    assert reason(TFJOB, a_raw(TFJOB, replica("WORKER", replicas="two"), terminationPolicy=chief)) == (
        "invalid job spec: spec.replicaSpecs[0].replicas: must be a whole number, not 'two'"
    )


@pytest.mark.parametrize("spec", [None, [], "text", {"replicaSpecs": 3}, {"replicaSpecs": ["text", 1]}])
def test_no_shape_is_too_odd_to_be_refused(spec: Any) -> None:
    assert parse(TFJOB, a_raw(TFJOB) | {"spec": spec}).problems


# --- the chief: legacy §3.3, §3.4, C5 -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "phase", "state"),
    [
        (0, "Done", "Succeeded"),
        *((code, "Done", "Failed") for code in (1, 2, 127)),
        *((code, "Running", "Running") for code in (128, 130, 137, 139, 143, 255)),
        ((137, "OOMKilled"), "Done", "Failed"),
    ],
)
def test_the_end_of_the_master_is_that_of_the_job(code: Any, phase: str, state: str) -> None:
    status = told(TFJOB, parse(TFJOB, EXAMPLE), Master=code)
    assert (status["phase"], status["state"], status["reason"]) == (phase, state, "")


def test_who_else_fails_does_not_fail_the_job() -> None:
    status = told(TFJOB, parse(TFJOB, EXAMPLE), Worker=1, PS=1)
    assert (status["phase"], status["state"]) == ("Running", "Running")
    assert [(it["tf_replica_type"], it["state"]) for it in status["replicaStatuses"]] == [
        ("MASTER", "Running"), ("WORKER", "Failed"), ("PS", "Failed"),
    ]  # fmt: skip


@pytest.mark.parametrize(("role", "state"), [("Worker", "Succeeded"), ("Master", "Running")])
def test_any_member_may_be_the_chief(role: str, state: str) -> None:
    raw = a_raw(
        TFJOB, MASTER, WORKER, terminationPolicy={"chief": {"replicaName": "WORKER", "replicaIndex": 0}}
    )
    assert told(TFJOB, parse(TFJOB, raw), **{role: 0})["state"] == state


def test_who_is_not_the_chief_is_started_again_also_where_it_has_the_chiefs_type() -> None:
    """legacy §3.4, §3.6."""
    chief = {"chief": {"replicaName": "WORKER", "replicaIndex": 1}}
    job = parse(TFJOB, a_raw(TFJOB, MASTER, replica("WORKER", replicas=3), terminationPolicy=chief))
    pods, _ = made(TFJOB, job)
    assert {name: pod["spec"]["restartPolicy"] for name, pod in pods.items()} == {
        "master-r-0": "OnFailure",
        "worker-r-0": "OnFailure",
        "worker-r-1": "Never",
        "worker-r-2": "OnFailure",
    }
    leads = "training.kubeflow.org/job-role"
    assert [name for name, pod in pods.items() if leads in pod["metadata"]["labels"]] == ["worker-r-1"]
    assert told(TFJOB, job, Worker=1)["state"] == "Running", "worker 0 is not the chief"


# --- names: legacy §2.1 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1st-try", "a.b", "x" * 63])
def test_a_job_may_have_any_name_as_its_children_have_names_without_it(name: str) -> None:
    assert list(made(TFJOB, parse(TFJOB, a_raw(TFJOB, MASTER, name=name)))[0]) == ["master-r-0"]


@pytest.mark.parametrize("name", ["", "Job", "a_b", "-a", "a..b", "x" * 64])
def test_a_name_that_no_object_or_label_can_have_is_told(name: str) -> None:
    assert reason(TFJOB, a_raw(TFJOB, MASTER, name=name)) == (
        f"invalid job spec: metadata.name: {any_name_message()}"
    )


# --- the status: legacy §3.1, C1 ----------------------------------------------------------------------------


def test_the_status_is_that_of_seed_000_when_the_master_has_ended() -> None:
    status = told(TFJOB, parse(TFJOB, EXAMPLE), Master=0)
    era = ("tf_replica_type", "state", "ReplicasStates")
    assert [tuple(it[name] for name in era) for it in status["replicaStatuses"]] == [
        ("MASTER", "Succeeded", {"Succeeded": 1}),
        ("WORKER", "Running", {"Running": 1}),
        ("PS", "Running", {"Running": 2}),
    ]
    assert (status["phase"], status["state"], status["controlPaused"]) == ("Done", "Succeeded", False)


@pytest.mark.parametrize(("policy", "phase"), [("None", "Done"), ("Running", "CleanUp"), ("All", "CleanUp")])
def test_a_job_that_leaves_nobody_running_is_done_only_then(policy: str, phase: str) -> None:
    """legacy §3.5, §8.3."""
    raw = a_raw(TFJOB, MASTER, WORKER, cleanPodPolicy=policy)
    status = told(TFJOB, parse(TFJOB, raw), Master=0)
    assert (status["phase"], status["state"]) == (phase, "Succeeded")


def test_the_list_has_the_order_of_the_spec() -> None:
    status = told(TFJOB, parse(TFJOB, a_raw(TFJOB, PS, MASTER)))
    assert [it["tf_replica_type"] for it in status["replicaStatuses"]] == ["PS", "MASTER"]


@pytest.mark.parametrize("framework", [TFJOB, OLDER], ids=lambda f: f.group)
@pytest.mark.parametrize("code", [0, 1, 137, None])
def test_what_is_told_can_be_recalled(framework: Framework[Any], code: int | None) -> None:
    raw = a_raw(framework, MASTER, WORKER, PS)
    told_before = told(framework, parse(framework, raw), Master=code)
    job = parse(framework, raw | {"status": told_before})
    assert framework.manner.tell(job, job.status) == told_before


def test_a_job_that_ended_under_an_operator_of_2017_stays_ended() -> None:
    """As seed 000 prints it."""
    counters = [{"ReplicasStates": {"Succeeded": 1}, "state": "Succeeded", "tf_replica_type": "MASTER"}]
    old = {"conditions": None, "controlPaused": False, "phase": "Done", "reason": "", "state": "Succeeded"}
    job = parse(TFJOB, EXAMPLE | {"status": old | {"replicaStatuses": counters}})
    assert job.status.finished
    assert TFJOB.manner.tell(job, job.status)["state"] == "Succeeded"
