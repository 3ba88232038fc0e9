"""An operator in this process on a real API server, a node that tells logs, and somebody who asks about jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from tests.crashing import Ledger, operator
from tests.node import Node, joined
from tests.scenarios.asking.person import Person
from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.registry import frameworks


@pytest.fixture(scope="session")
def known() -> dict[str, Framework[Any]]:
    return {framework.kind: framework for framework in frameworks().values()}


@pytest.fixture
def cast(known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known["TFJob"], **PARTS["TFJob"])


@pytest.fixture
def stage_name(crds: Cluster) -> str:
    return "cluster"


@pytest.fixture
async def stage(apart: Stage) -> AsyncIterator[Stage]:
    async with operator(apart.operators_way, frameworks(), Ledger(), namespace=apart.namespace):
        yield apart


@pytest.fixture(scope="session")
def node(crds: Cluster) -> Iterator[Node]:
    with joined(crds) as node:
        yield node


@pytest.fixture
def person(crds: Cluster, apart: Stage) -> Person:
    return Person(crds.kubeconfig, apart.namespace)
