"""The three stages: an API server in memory with the controller here, the same with real processes as `trainop run`
has them, and a real one with a real operator."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import account
from tests.chart.helm import Helm
from tests.cluster.controlplane import Cluster
from tests.cluster.shared import POD_GROUPS
from tests.scenarios.casting import PARTS, known_frameworks
from tests.scenarios.legacy_examples import FOLDER
from tests.scenarios.operators import Served, in_memory, serving
from tests.scenarios.processes import as_processes, left_out
from tests.scenarios.quota import Strict
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.kube.port import Raw
from trainop.model import DEFAULTS, Settings

_numbers = itertools.count()


@pytest.fixture(scope="session")
def known() -> dict[str, Framework[Any]]:
    return known_frameworks()


@pytest.fixture(params=PARTS)
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[request.param], **PARTS[request.param])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what cannot be played with processes."""
    if dropped := [item for item in items if left_out(item)]:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not left_out(item)]


@pytest.fixture(
    params=[
        "memory",
        pytest.param("processes", marks=pytest.mark.thorough),
        pytest.param("cluster", marks=pytest.mark.cluster),
    ]
)
def stage_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def stage(
    stage_name: str,
    cast: Cast,
    known: dict[str, Framework[Any]],
    settings: Settings,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> AsyncIterator[Stage]:
    name = f"job-{next(_numbers)}-{secrets.token_hex(2)}"
    if stage_name == "memory":
        async with in_memory(known, settings) as api:
            yield Stage(api, "default", cast, name)
    elif stage_name == "processes":
        async with as_processes(known, tmp_path) as (api, node):
            yield Stage(api, "default", cast, name, node=node)
    else:
        served: Served = request.getfixturevalue("operators")(settings)
        async with Client(credentials.load(str(served.cluster.kubeconfig))) as client:
            yield Stage(client, served.namespace, cast, name)


@pytest.fixture
async def played(stage: Stage, example: str) -> AsyncIterator[Stage]:
    """The stage with a job of examples/legacy on it, under its own name: so it is taken away for the next one."""
    raw: Raw = yaml.safe_load((FOLDER / example).read_text())
    own = replace(stage, name=raw["metadata"]["name"])
    await own.api.create(own.jobs, own.namespace, raw, dict)
    yield own
    await own.delete()
    await own.until_pods_are([])
    await own.until_services_are([])


@pytest.fixture
async def apart(
    stage_name: str, cast: Cast, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A stage with nobody on it: a namespace without other jobs, and no operator until the test starts one."""
    if stage_name == "memory":
        yield Stage(Strict(), "default", cast, "job")
    else:
        cluster: Cluster = request.getfixturevalue("crds")
        namespace: str = request.getfixturevalue("namespace")
        helm: Helm = request.getfixturevalue("helm")
        with account.granted(cluster, helm, tmp_path, namespace) as who:
            async with (
                Client(credentials.load(str(cluster.kubeconfig))) as client,
                Client(credentials.load(str(who.kubeconfig))) as granted,
            ):
                yield Stage(client, namespace, cast, "job", granted)


@pytest.fixture(scope="session")
def pod_group_kinds(control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The cluster knows the PodGroups of both gang schedulers."""
    with (tmp_path_factory.getbasetemp().parent / "podgroups.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        control_plane.install_crds(POD_GROUPS)


@pytest.fixture
def settings() -> Settings:
    """Of the operator; a module that wants others has a fixture of this name."""
    return DEFAULTS


@pytest.fixture(scope="session")
def operators(
    crds: Cluster, helm: Helm, known: dict[str, Framework[Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Settings], Served]]:
    """One operator for each set of settings that is asked for, until the end of the run."""
    with contextlib.ExitStack() as running:

        @cache
        def started(settings: Settings) -> Served:
            folder = tmp_path_factory.mktemp("operator")
            return running.enter_context(serving(crds, helm, known, folder, settings))

        yield started
