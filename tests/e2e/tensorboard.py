"""What a TensorBoard of a job answers, asked over HTTP as a browser asks it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.cluster.controlplane import Cluster, Refused
from tests.e2e import jobs


def losses(cluster: Cluster, namespace: str, service: str, *, steps: Sequence[int]) -> list[float]:
    """As soon as it shows those of all these steps, and of no others: it reads what is new every few seconds."""

    def shown() -> list[float]:
        told = _losses(cluster, namespace, service)
        return list(told.values()) if list(told) == list(steps) else []

    return jobs.until(f"{service} shows the losses of all steps", shown)


def _losses(cluster: Cluster, namespace: str, service: str) -> dict[int, float]:
    page = f"/api/v1/namespaces/{namespace}/services/{service}:80/proxy/data/plugin/scalars/scalars"
    try:
        told = json.loads(cluster.run("get", "--raw", f"{page}?run=.&tag=loss"))
    except Refused:
        return {}  # it starts, or nothing was written yet
    return {step: loss for _, step, loss in told}
