"""Where operators work in these tests: a namespace of the real cluster, a witness, and ways through proxies."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders import TF
from tests.chart.account import Account
from tests.cluster.controlplane import Cluster
from tests.kubelet import Kubelet
from tests.production.process import Operator, running, until
from tests.production.proxy import Proxy
from tests.production.witness import Witness
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Api

QUICK = (
    "--leader-election-lease-duration=3s",
    "--leader-election-renew-deadline=2s",
    "--leader-election-retry-period=0.5s",
)


@dataclass(frozen=True)
class Replica:
    """An operator, and the way it goes to the API server."""

    operator: Operator
    proxy: Proxy


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    api: Api
    """A way of its own, as the administrator."""
    namespace: str
    account: Account
    """Whom operators act as: it has the chart's rights in this namespace."""
    witness: Witness
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def kubelet(self) -> Kubelet:
        return Kubelet(self.api, self.namespace)

    def job(self, name: str, framework: Framework[Any] = TF, **replicas: int) -> Stage:
        """One that its workers decide; not submitted yet."""
        fields = {"jobMode": "MXTrain"} if framework.kind == "MXJob" else {}
        roles = replicas or {"Worker": 1}
        return Stage(self.api, self.namespace, Cast(framework, roles, "Worker", "PS", fields), name)

    @property
    def election(self) -> tuple[str, ...]:
        return "--leader-elect", "--leader-election-namespace", self.namespace

    def way(self, proxy: Proxy) -> Path:
        """A kubeconfig for an operator."""
        return proxy.kubeconfig(self.folder / f"kubeconfig-{proxy.port}", self.account.token)

    def log(self) -> Path:
        return self.folder / f"operator-{next(self._numbers)}.log"

    @asynccontextmanager
    async def operator(self, *flags: str, program: tuple[str, ...] = ()) -> AsyncIterator[Replica]:
        """For this namespace, through a proxy of its own; ready, unless the flags keep it from that."""
        async with self.proxy() as proxy, self.started(self.way(proxy), *flags, program=program) as one:
            await one.ready()
            yield Replica(one, proxy)

    def started(
        self, way: Path, *flags: str, program: tuple[str, ...] = ()
    ) -> AbstractAsyncContextManager[Operator]:
        """By that way, a kubeconfig; nobody waits until it is ready."""
        return running(way, self.log(), "--namespace", self.namespace, *flags, program=program)

    @asynccontextmanager
    async def proxy(self) -> AsyncIterator[Proxy]:
        async with Proxy(self.cluster.kubeconfig).running() as proxy:
            yield proxy

    @asynccontextmanager
    async def pair(self, *flags: str) -> AsyncIterator[tuple[Replica, Replica]]:
        """Two replicas, of which the first leads and the second follows, warm."""
        election = (*self.election, *flags)
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(self.operator(*election))
            await until("the first leads", first.operator.leads)
            second = await stack.enter_async_context(self.operator(*election))
            assert not await second.operator.leads()
            yield first, second


async def finish(job: Stage) -> None:
    await job.run_all()
    await job.until_state("Running")
    await end(job)


async def end(job: Stage) -> None:
    """The first worker decides."""
    await job.kubelet.exit(job.child("Worker"))
    await job.until_state("Succeeded")
