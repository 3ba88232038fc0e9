"""The loads: how many jobs of how many members, and what such a job looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainop.engine.topology import leads, topology
from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.parse import parse
from trainop.registry import frameworks


@dataclass(frozen=True)
class Load:
    jobs: int
    replicas: int
    in_turn: bool = False
    """Each job is submitted when the one before it is done; otherwise all of them at once."""
    alike: bool = False
    """Members are told nothing of each other, so that the bytes of TF_CONFIG do not grow with the job."""

    def __str__(self) -> str:
        return f"{self.jobs} x {self.replicas}" + (" in turn" if self.in_turn else "")

    @property
    def pods(self) -> int:
        return self.jobs * self.replicas

    def batches(self) -> list[list[Raw]]:
        """The jobs to submit, those of one batch together."""
        jobs = [job(f"job-{number:03}", self.replicas, alike=self.alike) for number in range(self.jobs)]
        return [[one] for one in jobs] if self.in_turn else [jobs]


BURST, IN_TURN, LARGE = Load(30, 10), Load(20, 3, in_turn=True), Load(1, 200)
GROWTH = tuple(Load(1, replicas, alike=True) for replicas in (125, 250, 500, 1_000))
CACHED = Load(50, 100, alike=True)
"""5,000 pods."""


def tensorflow() -> Framework[Any]:
    return next(framework for framework in frameworks().values() if framework.kind == "TFJob")


def job(name: str, replicas: int, *, alike: bool = False) -> Raw:
    """One in five members is a parameter server; worker 0 decides. Nothing is removed at the end."""
    framework, servers = tensorflow(), 0 if alike else replicas // 5
    template = {"spec": {"containers": [{"name": framework.container, "image": "example/train"}]}}
    counts = {"PS": servers, "Worker": replicas - servers}
    roles = {role: {"replicas": count, "template": template} for role, count in counts.items() if count}
    return {
        "apiVersion": framework.gvk.api_version,
        "kind": framework.kind,
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "enableDynamicWorker": alike,
            framework.replicas_field: roles,
        },
    }


def members(raw: Raw) -> list[str]:
    """The names of the job's pods, and of its services; the one that decides comes first."""
    framework = tensorflow()
    parsed = parse(framework, raw)
    everyone = sorted(topology(framework, parsed), key=lambda member: not leads(framework, parsed, member))
    return [member.name for member in everyone]
