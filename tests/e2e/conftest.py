"""The node, what is installed on it, and the people who use it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator

import pytest

from tests.chart import programs as of_the_chart
from tests.cluster import progress
from tests.cluster.controlplane import Cluster
from tests.e2e import operator as chart
from tests.e2e import user as users
from tests.e2e.node import Node
from tests.e2e.operator import Operator
from tests.e2e.user import User
from tests.image import built


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    with Node(progress.on_stderr()) as node:
        image = built.build(progress.on_stderr())
        node.import_image(image.archive)
        users.IMAGE = f"localhost/trainop:{image.container.removeprefix('trainop-')}"
        yield node


@pytest.fixture(scope="session")
def cluster(node: Node) -> Cluster:
    return node.cluster


@pytest.fixture(scope="session")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    helm = of_the_chart.helm(progress.on_stderr())
    with chart.installed(cluster, helm, users.IMAGE, tmp_path_factory.mktemp("helm")) as installed:
        yield installed


@pytest.fixture
def user(cluster: Cluster, operator: Operator) -> Iterator[User]:
    """In a namespace of its own, in which pods are restricted."""
    name = f"e2e-{secrets.token_hex(3)}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.run(
        "create",
        "-f",
        "-",
        stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        ),
    )
    yield User(cluster, name)
    cluster.run("delete", "namespace", name, "--wait=false")
