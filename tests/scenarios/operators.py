"""Operators for scenarios: one in this process on an API server in memory, or a real one on a real cluster."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.chart import account
from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from tests.cluster.shared import CRDS
from tests.scenarios.casting import THIRD_PARTY
from trainop.crd import crd
from trainop.framework import Framework
from trainop.kube.memory import Memory
from trainop.kube.port import Resource
from trainop.model import Settings
from trainop.operator.controller import Controller

NO_PORTS = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
"""Many operators run on this machine at once."""

Known = Mapping[str, Framework[Any]]


@asynccontextmanager
async def in_memory(known: Known, settings: Settings, *absent: Resource) -> AsyncIterator[Memory]:
    """`absent` are kinds that are not installed."""
    memory, frameworks = Memory(), {framework.gvk: framework for framework in known.values()}
    memory.absent.update(absent)
    controller = Controller(memory, frameworks, settings=settings)
    async with controller.running():
        yield memory


class Served:
    """A namespace of the real cluster with an operator that serves it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace


@contextmanager
def serving(cluster: Cluster, helm: Helm, known: Known, folder: Path, settings: Settings) -> Iterator[Served]:
    """`trainop operator` in a namespace of its own, with the rights that the chart gives it there and no others,
    and a folder for its log. The product's CRDs are there."""
    namespace = f"stage-{secrets.token_hex(4)}"
    cluster.run("create", "namespace", namespace)
    for framework in known.values():
        file = f"{framework.group}_{framework.plural}.yaml"
        if not (CRDS / file).exists():
            (folder / file).write_text(json.dumps(crd(framework)))
            cluster.install_crds(folder / file, "--server-side")
    log, gang = folder / "operator.log", settings.gang_scheduler
    values = account.only_in(namespace, known=known.values(), gang_scheduler=gang)
    who = account.install(cluster, account.objects(helm, namespace, *values), folder)
    flags = ["--namespace", namespace, *NO_PORTS, *(["--gang-scheduler-name", gang] if gang else [])]
    operator = Process(
        [Path(sys.executable).with_name("trainop"), "operator", *flags],
        log=log,
        env={
            **os.environ,
            **who.environment,
            "PYTHONPATH": str(THIRD_PARTY),
            "PYTHONWARNINGS": "error::RuntimeWarning",
        },
    )
    waiting.until("the operator serves", lambda: "serving" in log.read_text() or operator.wait(0) is not None)
    yield Served(cluster, namespace)
    operator.terminate()
    code = operator.wait(30)
    operator.stop(5)
    cluster.run("delete", "namespace", namespace, "--wait=false")
    assert code == 0, f"the operator did not end well: {code}\n{operator.last_words(40)}"
    assert "Traceback" not in log.read_text(), log.read_text()
    who.check(log)
