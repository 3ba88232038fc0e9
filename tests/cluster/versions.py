"""Which Kubernetes the control plane is of: K8S_VERSION picks one of those that are locked in kubernetes/."""

import os
from pathlib import Path

from tests.cluster.build import Sources, Unavailable

PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
_LOCKED = Path(__file__).with_name("kubernetes")


def kubernetes() -> Sources:
    """The one that K8S_VERSION names, such as 1.30 or v1.30.14, else the newest; raises Unavailable."""
    asked = os.environ.get("K8S_VERSION")
    if not asked:
        return newest()
    for sources in locked():
        if asked.removeprefix("v") in (sources.folder.name, sources.version.removeprefix("v")):
            return sources
    known = " or ".join(sources.folder.name for sources in locked())
    raise Unavailable(f"K8S_VERSION is {asked}, which is not locked here: set it to {known}, or unset it.")


def newest() -> Sources:
    """The one that locks every program, etcd too, which all versions share."""
    return locked()[-1]


def locked() -> list[Sources]:
    """Every Kubernetes that the tests can run on, the oldest first."""
    return [_sources(folder) for folder in sorted(_LOCKED.iterdir(), key=_numbers)]


def _numbers(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, folder.name.split(".")))


def _sources(folder: Path) -> Sources:
    tools = (folder / "go.mod").read_text().splitlines()
    return Sources(
        name="kubernetes",
        folder=folder,
        module="k8s.io/kubernetes",
        packages={name: package for name, package in PACKAGES.items() if f"\t{package}" in tools},
        way_out=f"or set KUBEBUILDER_ASSETS to a folder that holds {', '.join(PACKAGES)}",
    )
