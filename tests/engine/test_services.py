"""The headless service of a member. kubeflow-v1 §4.4 and T36; DECISIONS "services"."""

from typing import Any

import pytest

from tests.builders import TF, Raw, a_job, a_template
from trainop.engine import services
from trainop.engine.topology import topology


def manifest(**container: Any) -> Raw:
    job = a_job(
        TF, Worker={"template": a_template(sidecar="web", metadata={"labels": {"a": "b"}}, **container)}
    )
    (member,) = topology(TF, job)
    return services.manifest(TF, job, member)


def test_the_whole_service() -> None:
    labels = {
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/job-name": "mnist",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    assert manifest() == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "mnist-worker-0",
            "namespace": "ns",
            "labels": labels,
            "ownerReferences": [
                {
                    "apiVersion": "kubeflow.org/v1",
                    "kind": "TFJob",
                    "name": "mnist",
                    "uid": "job-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "clusterIP": "None",
            "selector": labels,
            "publishNotReadyAddresses": True,
            "ports": [{"name": "tfjob-port", "port": 2222, "protocol": "TCP"}],
        },
    }


@pytest.mark.parametrize(
    ("written", "served"),
    [
        # In order, with the default one after them.
        ([("z", 3, None), ("a", 1, None)], [("z", 3, "TCP"), ("a", 1, "TCP"), ("tfjob-port", 2222, "TCP")]),
        ([("tfjob-port", 7, None)], [("tfjob-port", 7, "TCP")]),
        # The protocol is kept; one number may serve two of them.
        ([("tfjob-port", 7, "UDP"), ("t", 7, "TCP")], [("tfjob-port", 7, "UDP"), ("t", 7, "TCP")]),
        # A service wants a name for each port, and no number twice.
        (
            [(None, 8, None), (None, 9, "UDP"), ("tfjob-port", 8, "TCP")],
            [("port-8-tcp", 8, "TCP"), ("port-9-udp", 9, "UDP")],
        ),
    ],
)
def test_ports_keep_order_and_protocol(
    written: list[tuple[str | None, int, str | None]], served: list[tuple[str, int, str]]
) -> None:
    ports = [
        {key: value for key, value in zip(("name", "containerPort", "protocol"), port, strict=True) if value}
        for port in written
    ]
    found = manifest(ports=ports)["spec"]["ports"]
    assert [(port["name"], port["port"], port["protocol"]) for port in found] == served
