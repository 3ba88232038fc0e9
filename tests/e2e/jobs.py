"""Jobs on the cluster: put there from files, waited for, and asked about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml

from tests.cluster import waiting
from tests.cluster.controlplane import Cluster, Refused
from tools.environments import ROOT

Raw = dict[str, Any]
T = TypeVar("T")
END_LIMIT = 900
"""Seconds for a training of a few steps: pods get little of a machine that does other things, too."""
_PAUSE = 0.5  # seconds between two looks, each of which takes time away from those who train
_ENDS = ("Succeeded", "Failed")
_LOSS = re.compile(r"\bloss ([0-9.]+)$", re.MULTILINE)


def until(what: str, condition: Callable[[], T]) -> T:
    """Wait for something to become true in a training."""
    return waiting.until(what, condition, END_LIMIT, pause=_PAUSE)


@dataclass(frozen=True)
class Job:
    cluster: Cluster
    namespace: str
    kind: str
    """With its group: several have the same name."""
    name: str

    def get(self) -> Raw:
        return self._get(f"{self.kind}/{self.name}")

    def pods(self) -> dict[str, Raw]:
        """All that are there, by name."""
        found = self._get("pods", "--selector", f"training.kubeflow.org/job-name={self.name}")["items"]
        return {pod["metadata"]["name"]: pod for pod in found}

    def log(self, pod: str) -> str:
        """Empty while there is none."""
        try:
            return self.cluster.run("logs", "-n", self.namespace, pod)
        except Refused:
            return ""

    def losses(self, pod: str) -> list[float]:
        """That a member has told, from the first to the last."""
        return [float(loss) for loss in _LOSS.findall(self.log(pod))]

    def joined(self, pod: str) -> str:
        """What a member of an example has told of whom it has found; TensorFlow itself talks before it."""
        return next(line for line in self.log(pod).splitlines() if line.startswith("joined: "))

    def end(self) -> str:
        """Succeeded or Failed, waited for."""
        try:
            return until(f"{self.name} has ended", self._end)
        except TimeoutError as late:
            raise TimeoutError(f"{late}\n{self.story()}") from late

    def story(self) -> str:
        """All that there is to know, for whoever reads about a failed test."""
        logs = (f"--- {pod}\n{self.log(pod)[-2000:]}" for pod in self.pods())
        return "\n".join([json.dumps(self.get().get("status"), indent=1), *logs])

    def _end(self) -> str:
        conditions = self.get().get("status", {}).get("conditions") or ()
        return next((c["type"] for c in conditions if c["type"] in _ENDS and c["status"] == "True"), "")

    def _get(self, *words: str) -> Raw:
        told: Raw = json.loads(self.cluster.run("get", "-n", self.namespace, "-o", "json", *words))
        return told


def read(file: str) -> Raw:
    """A job of examples/."""
    told: Raw = yaml.safe_load((ROOT / file).read_text())
    return told


def start(cluster: Cluster, namespace: str, job: Raw) -> Job:
    """Create it, whatever its file says about where."""
    cluster.run("create", "-n", namespace, "-f", "-", stdin=json.dumps(job))
    return at(cluster, namespace, job)


def at(cluster: Cluster, namespace: str, job: Raw) -> Job:
    """One that was created."""
    group, _, _ = job["apiVersion"].partition("/")
    return Job(cluster, namespace, f"{job['kind']}.{group}", job["metadata"]["name"])


def templates(job: Raw) -> Iterator[Raw]:
    """The pod templates of a job of any kind, to be changed in place."""
    for field, written in job["spec"].items():
        if field.lower().replace("_", "").endswith("replicaspecs"):
            replicas = written.values() if isinstance(written, Mapping) else written
            yield from (replica["template"] for replica in replicas if "template" in replica)


def with_env(job: Raw, **variables: str) -> Raw:
    """The same, where every member has these variables, too."""
    changed: Raw = json.loads(json.dumps(job))  # no template is shared any more
    for template in templates(changed):
        for container in template["spec"]["containers"]:
            own = [entry for entry in container.get("env") or () if entry["name"] not in variables]
            container["env"] = own + [{"name": name, "value": value} for name, value in variables.items()]
    return changed
