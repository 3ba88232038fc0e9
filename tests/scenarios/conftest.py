"""The two stages: an API server in memory with the controller here, and a real one with a real operator."""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from tests.scenarios.casting import PARTS, known_frameworks
from tests.scenarios.operators import Served, in_memory, serving
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube import credentials
from trainop.kube.client import Client
from trainop.model import DEFAULTS, Settings

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
    stage_name: str,
    cast: Cast,
    known: dict[str, Framework[Any]],
    settings: Settings,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Stage]:
    name = f"job-{next(_numbers)}-{secrets.token_hex(2)}"
    if stage_name == "memory":
        async with in_memory(known, settings) as api:
            yield Stage(api, "default", cast, name)
    else:
        served: Served = request.getfixturevalue("operators")(settings)
        async with Client(credentials.load(str(served.cluster.kubeconfig))) as client:
            yield Stage(client, served.namespace, cast, name)


@pytest.fixture
def settings() -> Settings:
    """Of the operator; a module that wants others has a fixture of this name."""
    return DEFAULTS


@pytest.fixture(scope="session")
def operators(
    crds: Cluster, known: dict[str, Framework[Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Settings], Served]]:
    """One operator for each set of settings that is asked for, until the end of the run."""
    with contextlib.ExitStack() as running:

        @cache
        def started(settings: Settings) -> Served:
            folder = tmp_path_factory.mktemp("operator")
            return running.enter_context(serving(crds, known, folder, settings))

        yield started
