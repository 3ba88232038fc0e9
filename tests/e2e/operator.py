"""The operator as the chart installs it: two replicas in a namespace that takes none but restricted pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chart.helm import CHART, Helm
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.e2e.user import PATIENCE

NAMESPACE, NAME = "trainop-system", "trainop"
_MANIFEST = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}


@dataclass(frozen=True)
class Operator:
    cluster: Cluster
    helm: Helm

    def leader(self) -> str:
        """The pod that holds the Lease; empty: nobody does."""
        lease = json.loads(self._run("get", "lease", NAME, "-o", "json"))
        holder = lease["spec"].get("holderIdentity") or ""
        return next((name for name in self.pods() if holder.startswith(name)), "")

    def pods(self) -> dict[str, dict[str, Any]]:
        """By name."""
        words = ("get", "pods", "-l", f"app.kubernetes.io/instance={NAME}", "-o", "json")
        return {pod["metadata"]["name"]: pod for pod in json.loads(self._run(*words))["items"]}

    def delete_pod(self, name: str) -> None:
        """At once, with no time for goodbyes."""
        self._run("delete", "pod", name, "--grace-period=0", "--force")

    def until_ready(self) -> None:
        self._run("rollout", "status", f"deployment/{NAME}", f"--timeout={PATIENCE}s")
        waiting.until("a replica leads", self.leader, PATIENCE)

    def test(self) -> str:
        """What `helm test` prints; raises HelmRefused."""
        return self.helm.run("test", NAME, "--namespace", NAMESPACE)

    def _run(self, *words: str) -> str:
        return self.cluster.run("-n", NAMESPACE, *words)


@contextmanager
def installed(cluster: Cluster, program: Path, image: str, home: Path) -> Iterator[Operator]:
    """By helm, and removed by it."""
    helm = Helm(program, home, cluster.kubeconfig)
    cluster.run("apply", "-f", "-", stdin=json.dumps(_MANIFEST))
    repository, _, tag = image.rpartition(":")
    values = ("--set", f"image.repository={repository},image.tag={tag},image.pullPolicy=Never")
    where = ("--namespace", NAMESPACE, "--wait", f"--timeout={PATIENCE}s")
    helm.run("install", NAME, CHART, *where, *values)
    try:
        operator = Operator(cluster, helm)
        operator.until_ready()
        yield operator
    finally:
        helm.run("uninstall", NAME, *where)
