"""Where the arms meet: one control plane, a namespace for each arm, all processes warm, one round at a time."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from bench import counted, proc
from bench.lifeline import Helper, helper
from bench.loads import Load, members, tensorflow
from bench.proc import Cpu, Meter
from bench.witness import Witness
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from trainop.kube.client import Client
from trainop.kube.cluster import resource
from trainop.kube.credentials import load
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.kube.wire import Service

Arm = Literal["null", "ours"]
ARMS: tuple[Arm, Arm] = ("null", "ours")
LONGEST_NOISE = 30.0
"""Seconds for which a process may go on after its jobs are done."""


class Wrong(Exception):
    """A round did not end as it should: it does not count, nor does anything after it."""


class Round(Struct, frozen=True):
    load: str
    arm: Arm
    to_all: float
    """Seconds from the submission until all pods and services exist; in turn: of all jobs together."""
    cost: float
    """As the arena's meter has it: seconds of CPU, or instructions."""
    requests: int = 0
    running: tuple[float, ...] = ()
    """Seconds from the leading pod's running until the job is seen Running, for each job."""
    ended: tuple[float, ...] = ()
    """The same of the leading pod's end and Succeeded."""


class Arena:
    def __init__(
        self,
        cluster: Cluster,
        api: Client,
        witness: Witness,
        life: Helper,
        namespaces: Mapping[Arm, str],
        pids: Mapping[Arm, int],
        meter: Meter,
    ) -> None:
        self.cluster, self.api, self.witness, self.pids, self._meter = cluster, api, witness, pids, meter
        self._life, self._namespaces = life, namespaces

    async def round(self, load: Load, arm: Arm) -> Round:
        """Submit, wait for all pods, let them live, look at what came of it, and take everything away."""
        namespace, pid = self._namespaces[arm], self.pids[arm]
        self.witness.forget(namespace)
        before, used, to_all = counted.requests(self.cluster), self._meter.used(pid), 0.0
        there = 0
        for batch in load.batches():
            there += sum(len(members(job)) for job in batch)
            to_all += await self._submit(namespace, batch, there)
            await self._live(arm, batch)
        await self.quiet(pid)
        used = self._meter.used(pid) - used
        sent = counted.by_the_operator(before, counted.requests(self.cluster), load.jobs)
        await self._check(load, arm)
        names = [(job["metadata"]["name"], members(job)[0]) for batch in load.batches() for job in batch]
        done = Round(
            load=str(load),
            arm=arm,
            to_all=to_all,
            cost=used,
            requests=sent.total(),
            running=self._delays(namespace, names, "Running"),
            ended=self._delays(namespace, names, "Succeeded"),
        )
        await self.clear(namespace)
        return done

    async def fill(self, load: Load) -> None:
        """The jobs with their pods, which run; they stay."""
        namespace = self._namespaces["ours"]
        for batch in load.batches():
            await self._submit(namespace, batch, load.pods)
            await self._give("Running", namespace, [name for job in batch for name in members(job)])
        await self.quiet(self.pids["ours"])

    async def quiet(self, pid: int) -> None:
        """Until the process has nothing left to do."""
        deadline = time.monotonic() + LONGEST_NOISE
        while time.monotonic() < deadline:
            used = proc.cpu(pid)
            await asyncio.sleep(self._meter.rest.seconds)
            if proc.cpu(pid) - used < self._meter.rest.cpu:
                return

    async def clear(self, namespace: str) -> None:
        """Delete the jobs; the garbage collector takes the rest."""
        jobs = resource(tensorflow())
        listing = await self.api.list(jobs, Service, namespace=namespace)
        for job in listing.items:
            await self.api.delete(jobs, namespace, job.metadata.name, job.metadata.uid)
        for kind in ("pods", "services"):
            await self.witness.until_gone(namespace, kind)
        for pid in self.pids.values():
            await self.quiet(pid)

    async def _submit(self, namespace: str, batch: list[Raw], pods: int) -> float:
        there, started = self.witness.there, time.monotonic()
        what = resource(tensorflow())
        await asyncio.gather(*(self.api.create(what, namespace, job, Service) for job in batch))
        seen = await self.witness.until(
            f"{pods} pods and services exist",
            lambda: there[namespace, "pods"] >= pods and there[namespace, "services"] >= pods,
        )
        return seen - started

    async def _live(self, arm: Arm, batch: list[Raw]) -> None:
        """All pods run, then each job's leading one ends well, in both arms: so both have the same machine. Only
        ours tells what it makes of that."""
        namespace, pods = self._namespaces[arm], [members(job) for job in batch]
        lives = {"Running": [name for job in pods for name in job], "Succeeded": [job[0] for job in pods]}
        for phase, living in lives.items():
            await self._give(phase, namespace, living)
            if arm == "ours":
                await self._all(namespace, [job["metadata"]["name"] for job in batch], phase)

    async def _all(self, namespace: str, jobs: list[str], condition: str) -> None:
        moments = self.witness.moments
        await self.witness.until(
            f"{len(jobs)} jobs are {condition}",
            lambda: (
                (namespace, jobs[-1], condition) in moments
                and all((namespace, job, condition) in moments for job in jobs)
            ),
        )

    async def _give(self, phase: str, namespace: str, pods: list[str]) -> None:
        await self._life.ask(f"{phase} {namespace} {' '.join(pods)}")

    def _delays(self, namespace: str, names: list[tuple[str, str]], state: str) -> tuple[float, ...]:
        moments = self.witness.moments
        return tuple(
            moments[namespace, job, state] - moments[namespace, pod, state]
            for job, pod in names
            if (namespace, job, state) in moments
        )

    async def _check(self, load: Load, arm: Arm) -> None:
        """Every member has its pod and its service, of the right owner, and every job of ours has succeeded."""
        namespace = self._namespaces[arm]
        jobs = (await self.api.list(resource(tensorflow()), dict, namespace=namespace)).items
        wanted = {(name, job["metadata"]["uid"]) for job in jobs for name in members(job)}
        for kind in (PODS, SERVICES):
            children = (await self.api.list(kind, Service, namespace=namespace)).items
            found = [(c.metadata.name, c.metadata.owner.uid) for c in children if c.metadata.owner]
            if len(jobs) != load.jobs or len(found) != load.pods or set(found) != wanted:
                raise Wrong(f"{load}, {arm}: there are not exactly the {kind.plural} that the jobs need")
        ends = {(job.get("status") or {}).get("conditions", [{}])[-1].get("type", "") for job in jobs}
        if arm == "ours" and ends != {"Succeeded"}:
            raise Wrong(f"{load}: not all jobs have succeeded but are {', '.join(sorted(ends))}")


@asynccontextmanager
async def arena(cluster: Cluster, meter: Meter | None = None) -> AsyncIterator[Arena]:
    """Everything is up and at rest. No meter: seconds of CPU are measured."""
    meter = meter or Cpu()
    with TemporaryDirectory(prefix="trainop-bench-") as folder:
        async with AsyncExitStack() as stack:
            mark = secrets.token_hex(2)
            namespaces: dict[Arm, str] = {arm: f"bench-{arm}-{mark}" for arm in ARMS}
            for namespace in namespaces.values():
                cluster.run("create", "namespace", namespace)
                stack.callback(cluster.run, "delete", "namespace", namespace, "--wait=false")
            api = await stack.enter_async_context(Client(load(str(cluster.kubeconfig))))
            witness = Witness(api)
            await stack.enter_async_context(witness.watching())
            operator = _operator(cluster, meter.under, namespaces["ours"], Path(folder) / "operator.log")
            stack.callback(operator.stop, 30)
            kubeconfig = str(cluster.kubeconfig)
            null = await stack.enter_async_context(
                helper("bench.null", kubeconfig, namespaces["null"], under=meter.under)
            )
            life = await stack.enter_async_context(helper("bench.podlife", kubeconfig))
            pids: dict[Arm, int] = {"null": null.pid, "ours": operator.pid}
            arena = Arena(cluster, api, witness, life, namespaces, pids, meter)
            await arena.quiet(operator.pid)
            yield arena


def _operator(cluster: Cluster, under: Iterable[str], namespace: str, log: Path) -> Process:
    """With everything on that an installation has on."""
    flags = {
        "--namespace": namespace,
        "--leader-election-namespace": namespace,
        "--metrics-bind-address": "127.0.0.1:0",
        "--health-probe-bind-address": "127.0.0.1:0",
    }
    process = Process(
        [
            *under,
            *(sys.executable, Path(sys.executable).with_name("trainop"), "operator"),
            "--leader-elect",
            *(word for flag in flags.items() for word in flag),
        ],
        log=log,
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
    )
    waiting.until("the operator serves", lambda: "serving" in log.read_text() or process.wait(0) is not None)
    if process.wait(0) is not None:
        raise Wrong(f"the operator does not start:\n{process.last_words()}")
    return process
