"""Checks of whole lives: jobs of the kind on an API server in memory, from their first pod to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from trainop.check.subject import NAMESPACE, Complaint, Subject, manifest, options
from trainop.engine import labels
from trainop.engine.plan import plan as make_plan
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.act import act
from trainop.kube.caches import Caches
from trainop.kube.cluster import Cluster, observe, resource
from trainop.kube.jobs import Jobs
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.kube.recorder import Recorder
from trainop.kube.report import difference
from trainop.model import Job
from trainop.parse import parse

NOW = datetime(2024, 5, 1, tzinfo=UTC)
MOST_PASSES = 8
"""After each thing that happens. The longest way has four: count a restart, replace a pod, see it, rest."""
MOST_LIVES = 30
"""Evenly chosen from all jobs: a life takes its time."""
PERMANENT, PASSING = 1, 137
"""Exit codes: one that is a failure for good, and one after which a member is tried again."""


class Restless(Exception):
    """Pass after pass there is still something to do."""


def good_end(subject: Subject) -> Iterator[Complaint]:
    yield from _stories(subject, "Succeeded", [0])


def bad_end(subject: Subject) -> Iterator[Complaint]:
    yield from _stories(subject, "Failed", [PERMANENT])


def second_try(subject: Subject) -> Iterator[Complaint]:
    yield from _stories(subject, "Succeeded", [PASSING, 0])


def _stories(subject: Subject, wanted: str, codes: list[int]) -> Iterator[Complaint]:
    told = " and then with ".join(map(str, codes))
    for job in chosen(subject):
        try:
            ended = asyncio.run(Life(subject.framework, job).live(codes))
        except Restless as error:
            yield restless(job, error)
            continue
        if ended != wanted:
            message = f"{cast(job)}: all end with {told}, and the job is {ended or 'still running'}"
            yield Complaint(message, f"it must be {wanted}: look at outcome")


def chosen(subject: Subject) -> tuple[Job[Any], ...]:
    return subject.jobs[:: len(subject.jobs) // MOST_LIVES + 1]


def cast(job: Job[Any]) -> str:
    return ", ".join(f"{replica.replicas} {role}" for role, replica in job.replicas.items())


def restless(job: Job[Any], error: Restless) -> Complaint:
    return Complaint(f"{cast(job)}: {error}", "the plan must come to rest: look at outcome and companions")


class Life:
    """One job, and an operator without a clock: a pass when it is told to make one."""

    def __init__(self, framework: Framework[Any], job: Job[Any]) -> None:
        self._framework, self._memory = framework, Memory()
        roles = {role: replica.replicas for role, replica in job.replicas.items()}
        self._raw = manifest(framework, roles, options(framework, job), restartPolicy="ExitCode")

    async def live(self, codes: list[int]) -> str:
        """All members run and end with the first code, then with the next; the job's last word."""
        await self.begin()
        for code in codes:
            for pod in await self.alive():
                await self.end(pod, code)
            await self.settle()
        return await self.verdict()

    async def begin(self) -> None:
        """All members run."""
        await self._memory.create(resource(self._framework), NAMESPACE, self._raw, dict)
        await self.settle()

    async def verdict(self) -> str:
        """Empty: there is none yet."""
        name = self._raw["metadata"]["name"]
        stored = await self._memory.get(resource(self._framework), NAMESPACE, name, dict)
        ends = [c["type"] for c in stored["status"]["conditions"] if c["type"] in ("Succeeded", "Failed")]
        return " and ".join(ends)

    async def alive(self) -> list[str]:
        """The pods of members that have not ended."""
        beside = {companion.name.lower() for companion in self._framework.companions}
        return [
            pod["metadata"]["name"]
            for pod in (await self._memory.list(PODS, dict)).items
            if pod["metadata"]["labels"][labels.REPLICA_TYPE] not in beside
            and pod["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    async def end(self, pod: str, code: int) -> None:
        await self._phase(pod, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code}})

    async def settle(self) -> None:
        """Everything that can be done is done, and whoever is alive runs."""
        await self._rest()
        for pod in await self.alive():
            await self._phase(pod, "Running", {})
        await self._rest()

    async def _rest(self) -> None:
        for _ in range(MOST_PASSES):
            if not await self._pass():
                return
        raise Restless(f"still busy after {MOST_PASSES} passes in which nothing happened")

    async def _pass(self) -> bool:
        """Whether there was anything to do."""
        where = resource(self._framework), NAMESPACE, self._raw["metadata"]["name"]
        job = parse(self._framework, await self._memory.get(*where, dict))
        cluster = await self._seen()
        plan = make_plan(self._framework, job, observe(cluster, job))
        await act(cluster, self._framework, job, plan.actions)
        tell = self._framework.manner.tell
        patch = difference(tell(job, job.status), tell(job, plan.status))
        await self._memory.patch(*where, {"status": patch}, dict, subresource="status")
        return bool(patch or plan.actions)

    async def _seen(self) -> Cluster:
        pods = Caches(self._memory, PODS, wire.Pod, selector="", wake=lambda key: None)
        services = Caches(self._memory, SERVICES, wire.Service, selector="", wake=lambda key: None)
        for pod in (await self._memory.list(PODS, wire.Pod)).items:
            pods.put(pod)
        for service in (await self._memory.list(SERVICES, wire.Service)).items:
            services.put(service)
        recorder = Recorder(self._memory, lambda: NOW)
        return Cluster(self._memory, Jobs(), pods, services, recorder, clock=lambda: NOW)

    async def _phase(self, pod: str, phase: str, state: Raw) -> None:
        """What a kubelet would write."""
        containers = [{"name": self._framework.container, "state": state}]
        status = {"phase": phase, "containerStatuses": containers}
        await self._memory.patch(PODS, NAMESPACE, pod, {"status": status}, dict, subresource="status")
