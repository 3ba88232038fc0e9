"""What a node is made of: programs built from sources that Go modules of ours lock, and the system's packages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.binaries import Binaries
from tests.cluster.build import Sources, Unavailable
from tests.cluster.progress import Progress
from tests.image import workshop

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

_TOOLS = ("bash", "ip", "mount", "nsenter", "openssl", "unshare")
_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "iptables")
_IN_PACKAGES = ("containerd", "runc", "/usr/lib/cni/bridge", "iptables")


@dataclass(frozen=True)
class Software:
    """All that a node is made of."""

    control_plane: Binaries
    programs: Mapping[str, Path]
    packages: Path | None
    """Unpacked, to be laid over /usr; None where the machine has them."""


def find(progress: Progress) -> Software:
    """Builds and fetches it the first time, which takes minutes. Raises Unavailable where no node can run."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unavailable(f"only root on Linux can run a node: become root, {WAY_OUT}.")
    _refuse_without([tool for tool in _TOOLS if not shutil.which(tool)])
    programs: dict[str, Path] = {}
    for sources in (NODE, DNS, PAUSE):
        programs |= binaries.cached(sources, tuple(sources.packages), progress)
    return Software(binaries.find(progress), programs, _packages(progress))


def _packages(progress: Progress) -> Path | None:
    missing = [name for name in _IN_PACKAGES if not shutil.which(name)]
    if not missing:
        return None
    if not shutil.which("apt-get"):
        _refuse_without(missing)
    return workshop.packages("node", _PACKAGES, progress, way_out=WAY_OUT)


def _refuse_without(missing: Sequence[str]) -> None:
    if missing:
        raise Unavailable(f"there is no {' and no '.join(missing)}: install them, {WAY_OUT}.")
