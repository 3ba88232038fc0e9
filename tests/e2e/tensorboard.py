"""What a TensorBoard of a job answers, asked over HTTP as a browser asks it."""

from __future__ import annotations

import json

from tests.cluster import waiting
from tests.cluster.controlplane import Cluster, Refused
from tests.e2e.jobs import END_LIMIT


def losses(cluster: Cluster, namespace: str, service: str) -> dict[int, float]:
    """By step, as soon as it shows any."""
    return waiting.until(f"{service} shows losses", lambda: _losses(cluster, namespace, service), END_LIMIT)


def _losses(cluster: Cluster, namespace: str, service: str) -> dict[int, float]:
    page = f"/api/v1/namespaces/{namespace}/services/{service}:80/proxy/data/plugin/scalars/scalars"
    try:
        told = json.loads(cluster.run("get", "--raw", f"{page}?run=.&tag=loss"))
    except Refused:
        return {}  # it starts, or nothing was written yet
    return {step: loss for _, step, loss in told}
