"""Who the members are, what they are called, where they are found. kubeflow-v1 §2.2, §4.1; DECISIONS `job-role`."""

from typing import Any

import pytest

from tests.builders import MX, TF, a_job, a_template
from trainop.engine.topology import leads, topology
from trainop.framework import Framework


def test_members_stand_in_the_frameworks_order_with_name_address_and_port() -> None:
    members = list(topology(TF, a_job(TF, Worker=2, PS=1)))
    assert [(m.role, m.index, m.name, m.address, m.port) for m in members] == [
        ("PS", 0, "mnist-ps-0", "mnist-ps-0.ns.svc", 2222),
        ("Worker", 0, "mnist-worker-0", "mnist-worker-0.ns.svc", 2222),
        ("Worker", 1, "mnist-worker-1", "mnist-worker-1.ns.svc", 2222),
    ]


def test_the_cluster_domain_ends_the_address() -> None:
    (member,) = topology(TF, a_job(TF, Worker=1), "cluster.local")
    assert member.address == "mnist-worker-0.ns.svc.cluster.local"


def test_a_role_with_no_replicas_is_there_without_members() -> None:
    """DECISIONS `replicas: 0`."""
    assert topology(TF, a_job(TF, Worker=1, PS=0)).roles["PS"] == ()


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ([{"name": "tfjob-port", "containerPort": 3333}], 3333),
        ([{"name": "web", "containerPort": 80}], 2222),
        ([{"containerPort": 80}, {"name": "tfjob-port", "containerPort": 4444}], 4444),
        ([], 2222),
        (None, 2222),
    ],
)
def test_the_port_is_the_one_of_the_frameworks_name_else_the_default(ports: Any, port: int) -> None:
    """§2.2: the port named `tfjob-port` in the container named `tensorflow`; fallback 2222."""
    job = a_job(TF, Worker={"template": a_template(sidecar="web", ports=ports)})
    assert [member.port for member in topology(TF, job)] == [port]


@pytest.mark.parametrize(
    ("framework", "roles", "masters"),
    [
        (TF, {"Chief": 1, "Worker": 2}, ["mnist-chief-0"]),
        (TF, {"Chief": 2, "Worker": 1}, ["mnist-chief-0", "mnist-chief-1"]),
        (TF, {"Master": 1, "PS": 1}, ["mnist-master-0"]),
        (TF, {"PS": 1, "Worker": 2, "Evaluator": 1}, ["mnist-worker-0"]),
        (MX, {"Scheduler": 1, "Server": 2, "Worker": 2}, ["mnist-scheduler-0"]),
        (MX, {"Server": 1, "Worker": 2}, ["mnist-worker-0"]),
        (MX, {"Scheduler": 1, "Tuner": 2, "spec": {"jobMode": "MXTune"}}, ["mnist-tuner-0"]),
    ],
)
def test_the_masters_are_the_leading_role_or_worker_0(
    framework: Framework[Any], roles: dict[str, Any], masters: list[str]
) -> None:
    """§4.1 for TFJob; DECISIONS "MXJob `job-role: master`"."""
    job = a_job(framework, **roles)
    assert [m.name for m in topology(framework, job) if leads(framework, job, m)] == masters
