"""The programs of a node, built from sources that Go modules of ours lock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.build import Sources
from tests.cluster.progress import Progress

_HERE = Path(__file__).parent
WAY_OUT = "or name a cluster that is there already with TRAINOP_E2E_KUBECONFIG"
_KUBERNETES = "k8s.io/kubernetes"
NODE = Sources(
    name="node",
    folder=_HERE / "node",
    module=_KUBERNETES,
    packages={name: f"{_KUBERNETES}/cmd/{name}" for name in ("kubelet", "kube-proxy", "kube-scheduler")},
    way_out=WAY_OUT,
)
DNS = Sources(
    name="coredns",
    folder=_HERE / "dns",
    module="github.com/coredns/coredns",
    packages={"coredns": "."},
    way_out=WAY_OUT,
)
PAUSE = Sources(
    name="pause",
    folder=_HERE / "pause",
    module="",
    packages={"pause": "."},
    way_out=WAY_OUT,
)


def find(progress: Progress) -> Mapping[str, Path]:
    """By name; builds them the first time, which takes minutes. Raises Unavailable where that cannot be done."""
    found: dict[str, Path] = {}
    for sources in (NODE, DNS, PAUSE):
        found |= binaries.cached(sources, tuple(sources.packages), progress)
    return found
