"""What a user of the cluster does: applies jobs, looks at what became of them, and asks trainop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.cluster import waiting
from tests.cluster.controlplane import Cluster, Refused

Raw = dict[str, Any]
T = TypeVar("T")

PATIENCE = 300
"""Seconds, on a machine that may be busy: an idle one needs a few."""
IMAGE = "trainop-examples/mxnet:1"
"""Any image with a Python in it."""
WAITS, OBEYS = "waiting for an order", "obeying"
OBEY = f"""
import pathlib, sys, time
order = pathlib.Path("/tmp/order")
print("{WAITS}", flush=True)
while not order.exists():
    time.sleep(0.1)
print("{OBEYS}", flush=True)
sys.exit(int(order.read_text()))
"""
"""Runs until it is told with what code to end."""
RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
LITTLE = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}}


@dataclass(frozen=True)
class User:
    cluster: Cluster
    namespace: str

    def kubectl(self, *words: str, stdin: str = "") -> str:
        return self.cluster.run("-n", self.namespace, *words, stdin=stdin)

    def apply(self, *objects: Mapping[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))

    def get(self, kind: str, name: str) -> Raw | None:
        with suppress(Refused):
            found: Raw = json.loads(self.kubectl("get", kind, name, "-o", "json"))
            return found
        return None

    def all(self, kind: str) -> list[Raw]:
        found: list[Raw] = json.loads(self.kubectl("get", kind, "-o", "json"))["items"]
        return found

    def state(self, name: str, kind: str = "tfjobs.kubeflow.org") -> str:
        """The conditions that are true of a job, the last one last."""
        job = self.get(kind, name) or {}
        conditions = job.get("status", {}).get("conditions", [])
        return " ".join(it["type"] for it in conditions if it["status"] == "True")

    def until(self, what: str, condition: Callable[[], T]) -> T:
        return waiting.until(what, condition, PATIENCE)

    def until_is(self, name: str, *wanted: str, kind: str = "tfjobs.kubeflow.org") -> None:
        """Wait until one of these conditions is true of the job."""
        try:
            self.until(
                f"{name} is {' or '.join(wanted)}",
                lambda: set(self.state(name, kind).split()) & set(wanted),
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}; trainop explain says: {self.explained(name)}") from error

    def until_runs(self, pod: str, *, but: str = "") -> str:
        """Wait until the pod's program is at work, in another pod than the one with the UID `but`. Its UID."""

        def runs() -> str:
            found = self.get("pod", pod) or {}
            statuses = found.get("status", {}).get("containerStatuses", [])
            ready = bool(statuses) and all("running" in status["state"] for status in statuses)
            uid: str = found.get("metadata", {}).get("uid", "")
            return uid if ready and uid != but and WAITS in self.log(pod) else ""

        return self.until(f"pod {pod} runs", runs)

    def log(self, pod: str) -> str:
        with suppress(Refused):
            return self.kubectl("logs", pod)
        return ""

    def order(self, pod: str, code: int) -> None:
        """Have a pod that obeys end with that code."""

        def ordered() -> bool:
            with suppress(Refused):
                self.kubectl(
                    "exec", pod, "--", "sh", "-c", f"echo {code} > /tmp/new && mv /tmp/new /tmp/order"
                )
                return True
            return OBEYS in self.log(pod)  # it may have ended before the one who brought the order

        self.until(f"{pod} has its order", ordered)

    def trainop(self, *words: str) -> tuple[int, str]:
        """The exit code, and all that it says."""
        done = subprocess.run(  # noqa: S603 - our own program
            self.argv(*words), env=self.environment(), capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def until_explained(self, name: str, *words: str) -> None:
        """Wait until trainop says so: the kubelet and the scheduler take their time."""
        said = ""

        def told() -> bool:
            nonlocal said
            said = self.explained(name)
            return all(word in said for word in words)

        try:
            self.until(f"{words} are told", told)
        except TimeoutError as error:
            raise AssertionError(f"{error}; it says:\n{said}") from error

    def explained(self, name: str) -> str:
        """What `trainop explain` says, without its line breaks."""
        _, said = self.trainop("explain", name)
        return " ".join(said.split())

    def argv(self, *words: str) -> list[str | Path]:
        return [Path(sys.executable).with_name("trainop"), *words, "--namespace", self.namespace]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "NO_COLOR": "1", "COLUMNS": "80"}

    def children(self, job: str) -> list[str]:
        """The names of all pods and services of a job."""
        selector = f"training.kubeflow.org/job-name={job}"
        return self.kubectl("get", "pods,services", "-l", selector, "-o", "name").split()


def job(name: str, program: str = OBEY, *, workers: int = 1, restart: str = "Never", **more: Any) -> Raw:
    """A TFJob whose workers run a program; `more` are fields of its container, and `policy` those of runPolicy."""
    policy = more.pop("policy", {})
    container = {
        "name": "tensorflow",
        "image": IMAGE,
        "command": ["python", "-c", program],
        "securityContext": UNPRIVILEGED,
        "resources": LITTLE,
        **more,
    }
    spec = {
        "securityContext": RESTRICTED,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": policy,
            "tfReplicaSpecs": {
                "Worker": {"replicas": workers, "restartPolicy": restart, "template": {"spec": spec}}
            },
        },
    }
