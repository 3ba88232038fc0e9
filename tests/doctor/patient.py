"""What is installed in a cluster for a while, and what the doctor says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.chart.helm import Helm, Raw, one
from tests.cluster.controlplane import Cluster
from trainop import cli

HOME = "trainop-system"
OWN = ("--show-only", "templates/deployment.yaml", "--show-only", "templates/rbac.yaml")


def doctor(cluster: Cluster, *words: str, kubeconfig: Path | None = None) -> Result:
    return CliRunner().invoke(
        cli.main, ["doctor", "--kubeconfig", str(kubeconfig or cluster.kubeconfig), *words]
    )


def findings(cluster: Cluster, **who: Any) -> list[Raw]:
    """The exit code is that of the worst of them."""
    result = doctor(cluster, "-o", "json", **who)
    found: list[Raw] = json.loads(result.output)
    assert result.exit_code == (1 if "problem" in [finding["level"] for finding in found] else 0)
    return found


def ills(cluster: Cluster, **who: Any) -> dict[str, str]:
    """What is wrong, by what it is about."""
    return {it["about"]: it["message"] for it in findings(cluster, **who) if it["level"] != "ok"}


@contextmanager
def there(cluster: Cluster, *objects: Raw) -> Iterator[None]:
    if not objects:  # kubectl would take that for a mistake
        yield
        return
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.run("apply", "-f", "-", stdin=text)
    try:
        yield
    finally:
        cluster.run("delete", "--ignore-not-found", "-f", "-", stdin=text)


def an_installation(helm: Helm, *values: str, namespace: str = HOME, release: str = "trainop") -> list[Raw]:
    words = [word for value in ("rbac.aggregate=false", *values) for word in ("--set", value)]
    return helm.objects(*OWN, *words, namespace=namespace, release=release)


@contextmanager
def installed(cluster: Cluster, *objects: Raw, ready: int = 2) -> Iterator[None]:
    """No controller makes pods of a Deployment here: the test says how many are ready."""
    with there(cluster, *objects):
        made = one(list(objects), "Deployment")["metadata"]
        status = json.dumps({"status": {"replicas": 2, "readyReplicas": ready}})
        which = ("deployment", made["name"], "-n", made["namespace"])
        cluster.run("patch", *which, "--subresource=status", "--type=merge", "-p", status)
        yield


def a_lease(
    name: str = "trainop", namespace: str = HOME, *, holder: str = "trainop-0_1", age: float = 0
) -> Raw:
    renewed = datetime.now(UTC) - timedelta(seconds=age)
    # Of a duration that no test outlasts.
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 600}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec | {"renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
    }


def the_old_operator(*flags: str, replicas: int = 1) -> Raw:
    labels = {"control-plane": "kubeflow-training-operator"}
    container = {"name": "training-operator", "image": "old", "command": ["/manager", *flags]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "training-operator", "namespace": "kubeflow", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
