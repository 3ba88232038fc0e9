"""Who leads, and since when nothing has been heard of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from trainop.kube.port import Raw, Resource

LEASES = Resource("coordination.k8s.io", "v1", "leases")


def age(lease: Raw) -> timedelta:
    renewed = lease["spec"].get("renewTime")
    return since(renewed) if renewed else timedelta.max


def since(moment: str) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(moment)
