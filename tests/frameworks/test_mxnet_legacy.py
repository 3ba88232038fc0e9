"""MxJob of 2017: names, DMLC_*, who decides, the status and every refusal. legacy §1.3, §2.5, §3 and its fixtures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.dialects import a_raw, a_replica, dialect, env, made, on_the_page, reason, told
from trainop.framework import Framework
from trainop.parse import parse
from trainop.rules import name_message

MXJOB = dialect("mlkube.io", "MxJob")
LATER = dialect("mxnet.mlkube.io", "MxJob")


def replica(type_: str | None = None, **fields: Any) -> dict[str, Any]:
    return a_replica("mxnet", **({"mxReplicaType": type_} if type_ else {}), **fields)


SCHEDULER, SERVER = replica("SCHEDULER", PsRootPort=9091), replica("SERVER", replicas=2)
WORKER = replica("WORKER", replicas=3)
ONE = replica("WORKER")


def dist(*replicas: Any, framework: Framework[Any] = MXJOB, **spec: Any) -> dict[str, Any]:
    spec = {"jobMode": "dist", "RuntimeId": "1kkf"} | spec
    return a_raw(framework, *(replicas or (SCHEDULER, SERVER, WORKER)), name="example-dist-job", **spec)


@pytest.mark.parametrize("framework", [MXJOB, LATER], ids=lambda f: f.group)
def test_the_example_of_seed_003_has_the_children_of_2017(framework: Framework[Any]) -> None:
    """legacy C3."""
    pods, services = made(framework, parse(framework, dist(framework=framework)))
    assert sorted(pods) == [
        "example-dist-job-scheduler-1kkf-0",
        "example-dist-job-server-1kkf-0",
        "example-dist-job-server-1kkf-1",
        "example-dist-job-worker-1kkf-0",
        "example-dist-job-worker-1kkf-1",
        "example-dist-job-worker-1kkf-2",
    ]
    ((name, service),) = services.items()
    assert name == "example-dist-job-scheduler-1kkf-0"
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("ps-root-port", 9091)]
    for pod in pods.values():
        labels = pod["metadata"]["labels"]
        assert list(env(pod).items()) == [
            ("DMLC_PS_ROOT_PORT", "9091"),
            ("DMLC_PS_ROOT_URI", "example-dist-job-scheduler-1kkf-0"),
            ("DMLC_NUM_SERVER", "2"),
            ("DMLC_NUM_WORKER", "3"),
            ("DMLC_ROLE", labels["job_type"].lower()),
            ("DMLC_USE_KUBERNETES", "1"),
        ]
        assert labels[framework.group] == ""
        assert labels["runtime_id"] == "1kkf"


def test_the_port_of_the_scheduler_is_that_of_all() -> None:
    pods, _ = made(MXJOB, parse(MXJOB, dist(replica("SCHEDULER", psrootport=1), SERVER, WORKER)))
    assert {env(pod)["DMLC_PS_ROOT_PORT"] for pod in pods.values()} == {"1"}


def test_the_environment_of_the_user_stays() -> None:
    """legacy §2.5: the operator of 2017 wrote over it."""
    worker = replica("WORKER")
    worker["template"]["spec"]["containers"][0]["env"] = [{"name": "PS_VERBOSE", "value": "1"}]
    pods, _ = made(MXJOB, parse(MXJOB, dist(SCHEDULER, SERVER, worker)))
    assert next(iter(env(pods["example-dist-job-worker-1kkf-0"]).items())) == ("PS_VERBOSE", "1")


@pytest.mark.parametrize("name", ["1st-try", "a.b"])
def test_a_name_that_a_service_cannot_have_is_fine_where_there_is_no_service(name: str) -> None:
    """legacy §2.1, §2.3."""
    alone, all_three = dist(ONE, jobMode="local"), dist()
    alone["metadata"]["name"] = all_three["metadata"]["name"] = name
    assert list(made(MXJOB, parse(MXJOB, alone))[0]) == [f"{name}-worker-1kkf-0"]
    assert reason(MXJOB, all_three) == f"invalid job spec: metadata.name: {name_message()}"


def test_a_local_job_is_one_pod_that_is_told_nothing() -> None:
    """legacy §2.5."""
    pods, services = made(MXJOB, parse(MXJOB, dist(ONE, jobMode="local")))
    assert services == {}
    assert [env(pod) for pod in pods.values()] == [{}]


@pytest.mark.parametrize(
    ("raw", "literal"),
    [
        (a_raw(MXJOB, ONE), "unkonw job mode: it must be local or dist"),
        (dist(jobMode="MXTrain"), "unkonw job mode MXTrain"),
        (
            dist(ONE, SERVER, jobMode="local"),
            "job mode is local, but its replicas set have replicas type other than worker",
        ),
        (
            dist(replica("WORKER", replicas=2), jobMode="local"),
            "job mode is local, but it has more than 1 worker",
        ),
        (dist(replica("WORKER", replicas=0), jobMode="local"), "job mode is local, but it has no worker"),
        (dist(SCHEDULER, WORKER), "dist job mode without replica type SERVER"),
        (dist(SCHEDULER | {"replicas": 2}, SERVER, WORKER), "The SCHEDULER must have Replicas = 1"),
        (
            dist(a_replica("tensorflow", mxReplicaType="SCHEDULER"), SERVER, WORKER),
            "Replica type SCHEDULER is missing a container for mxnet",
        ),
        (dist(SCHEDULER, SERVER, WORKER, None), "ReplicaSpecs contain nil"),
        (
            dist(replica("MASTER"), SCHEDULER, SERVER, WORKER),
            "MxReplicaSpec.MxReplicaType is MASTER but must be one of [SCHEDULER SERVER WORKER]",
        ),
    ],
)
def test_a_bad_job_says_why_in_the_words_of_2017(raw: dict[str, Any], literal: str) -> None:
    """legacy §1.3, C6."""
    assert reason(MXJOB, raw) == f"invalid job spec: {literal}"
    assert on_the_page(literal)


@pytest.mark.parametrize(
    ("codes", "state"),
    [
        ({"Scheduler": 0}, "Succeeded"),
        ({"Scheduler": 0, "Worker": 1}, "Succeeded"),
        ({"Worker": 1}, "Failed"),
        ({"Server": 1}, "Failed"),
        ({"Server": 137}, "Running"),
        ({"Server": (137, "OOMKilled")}, "Failed"),
    ],
)
def test_the_scheduler_decides_first_and_then_any_failure(codes: dict[str, Any], state: str) -> None:
    """legacy §3.4."""
    assert told(MXJOB, parse(MXJOB, dist()), **codes)["state"] == state


@pytest.mark.parametrize(("code", "state"), [(0, "Succeeded"), (1, "Failed"), (130, "Running")])
def test_a_local_job_ends_with_its_worker(code: int, state: str) -> None:
    assert told(MXJOB, parse(MXJOB, dist(ONE, jobMode="local")), Worker=code)["state"] == state


def test_the_counters_are_told_with_the_capital_letter_of_2017() -> None:
    """legacy §3.1."""
    status = told(MXJOB, parse(MXJOB, dist()), Scheduler=0)
    era = ("Mx_replica_type", "state", "ReplicasStates")
    assert [tuple(it[name] for name in era) for it in status["replicaStatuses"]] == [
        ("SCHEDULER", "Succeeded", {"Succeeded": 1}),
        ("SERVER", "Running", {"Running": 2}),
        ("WORKER", "Running", {"Running": 3}),
    ]
