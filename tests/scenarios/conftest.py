"""The two stages: an API server in memory with the controller here, and a real one with a real operator."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import CoreV1Api, V1Namespace, V1ObjectMeta

from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from tests.scenarios.casting import PARTS, THIRD_PARTY, known_frameworks
from tests.scenarios.stage import Cast, Stage
from trainop.crd import crd
from trainop.framework import Framework
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.kube.cluster import resource
from trainop.kube.memory import Memory
from trainop.kube.port import Api
from trainop.operator.controller import Controller

_numbers = itertools.count()


@pytest.fixture(scope="session")
def known() -> dict[str, Framework[Any]]:
    return known_frameworks()


@pytest.fixture(params=PARTS)
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[request.param], **PARTS[request.param])


@pytest.fixture(params=["memory", pytest.param("cluster", marks=pytest.mark.cluster)])
def stage_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def stage(
    stage_name: str, cast: Cast, known: dict[str, Framework[Any]], request: pytest.FixtureRequest
) -> AsyncIterator[Stage]:
    name = f"job-{next(_numbers)}-{secrets.token_hex(2)}"
    if stage_name == "memory":
        async with _in_memory(known) as api:
            yield Stage(api, "default", cast, name)
    else:
        served: Served = request.getfixturevalue("served")
        async with Client(credentials.load(str(served.cluster.kubeconfig))) as client:
            yield Stage(client, served.namespace, cast, name)


@contextlib.asynccontextmanager
async def _in_memory(known: dict[str, Framework[Any]]) -> AsyncIterator[Api]:
    memory = Memory()
    controller = Controller(memory, {framework.gvk: framework for framework in known.values()})
    async with controller.running():
        watches = [asyncio.create_task(_watch(memory, controller, framework)) for framework in known.values()]
        yield memory
        for watch in watches:
            watch.cancel()


async def _watch(memory: Memory, controller: Controller, framework: Framework[Any]) -> None:
    """What kopf does for the real operator."""
    async for change in memory.watch(resource(framework), dict, since="0"):
        controller.job_seen(framework, change.object, deleted=change.type == "DELETED")


class Served:
    """A namespace of the real cluster with an operator that serves it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace


@pytest.fixture(scope="session")
def served(
    control_plane: Cluster,
    core_api: CoreV1Api,
    known: dict[str, Framework[Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Served]:
    namespace = f"stage-{secrets.token_hex(4)}"
    core_api.create_namespace(V1Namespace(metadata=V1ObjectMeta(name=namespace)))
    for framework in known.values():
        control_plane.run("apply", "--server-side", "-f", "-", stdin=json.dumps(crd(framework)))
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    operator = Process(
        [Path(sys.executable).with_name("trainop"), "operator", "--namespace", namespace],
        log=log,
        env={
            **os.environ,
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PYTHONPATH": str(THIRD_PARTY),
            "PYTHONWARNINGS": "error::RuntimeWarning",
        },
    )
    waiting.until("the operator serves", lambda: "serving" in log.read_text() or operator.wait(0) is not None)
    yield Served(control_plane, namespace)
    operator.terminate()
    code = operator.wait(30)
    operator.stop(5)
    core_api.delete_namespace(namespace)
    assert code == 0, f"the operator did not end well: {code}\n{operator.last_words(40)}"
    assert "Traceback" not in log.read_text(), log.read_text()
