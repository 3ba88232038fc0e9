"""The replicas of the operator, as pods: who leads, and what happens when that one goes."""

from __future__ import annotations

from typing import Any

from tests.chart.release import Release
from tests.cluster import waiting

LIMIT = 300  # seconds, on a machine that may be busy
_OURS = "app.kubernetes.io/instance"


def pods(release: Release) -> dict[str, dict[str, Any]]:
    """Those that stay, by name."""
    found = release.get("pods", "--selector", f"{_OURS}={release.name}")["items"]
    return {pod["metadata"]["name"]: pod for pod in found if "deletionTimestamp" not in pod["metadata"]}


def leader(release: Release) -> str:
    """The pod that holds the Lease; empty: nobody who is there does."""
    holder = release.get("lease", release.name)["spec"].get("holderIdentity") or ""
    return next((name for name in pods(release) if holder.startswith(name)), "")


def kill(release: Release, name: str) -> None:
    """At once, with no time for goodbyes."""
    words = ("delete", "pod", name, "--grace-period=0", "--force")
    release.cluster.run("-n", release.namespace, *words)


def wait(release: Release) -> None:
    """Until both are ready and one of them leads."""
    words = ("rollout", "status", f"deployment/{release.name}", f"--timeout={LIMIT}s")
    release.cluster.run("-n", release.namespace, *words)
    waiting.until("a replica leads", lambda: leader(release), LIMIT)
