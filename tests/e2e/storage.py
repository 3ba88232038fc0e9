"""A volume for the members of a job to share: a folder of the node, or what a cluster gives by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster
from tests.e2e.node import Node

NAME = "training"
_SIZE = {"storage": "1Gi"}
_DEFAULT = r"{.items[*].metadata.annotations.storageclass\.kubernetes\.io/is-default-class}"


@contextmanager
def claimed(cluster: Cluster, namespace: str, node: Node | None) -> Iterator[str]:
    """The claim's name. On a cluster that is not ours, its default storage class fulfils the claim; raises
    Unavailable where there is none."""
    if not node and "true" not in cluster.run("get", "storageclasses", f"--output=jsonpath={_DEFAULT}"):
        raise Unavailable("the cluster has no default storage class, which this test needs")
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": _SIZE}}
    if node:
        spec |= {"storageClassName": "", "volumeName": namespace}
        folder = f"/run/{namespace}"  # in memory, and gone with the node
        node.run("mkdir", "--mode=777", folder)
        _create(cluster, _volume(namespace, folder))
    metadata = {"name": NAME, "namespace": namespace}
    _create(
        cluster, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    )
    yield NAME
    if node:
        cluster.run("delete", "persistentvolume", namespace, "--wait=false")


def _volume(namespace: str, folder: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": _SIZE,
            "claimRef": {"namespace": namespace, "name": NAME},
            "hostPath": {"path": folder},
        },
    }


def _create(cluster: Cluster, thing: dict[str, Any]) -> None:
    cluster.run("create", "-f", "-", stdin=json.dumps(thing))
