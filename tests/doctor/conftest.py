"""The cluster that the doctor looks at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import own
from tests.cluster.controlplane import Cluster
from tests.cluster.shared import CRDS
from tests.doctor.patient import HOME


@pytest.fixture(scope="module")
def bare() -> Iterator[Cluster]:
    """One of our own, as the doctor looks at all of it; the tests below have it in their order."""
    with own.control_plane() as cluster:
        for name in (HOME, "team-a", "team-b", "kubeflow"):
            cluster.run("create", "namespace", name)
        yield cluster


@pytest.fixture(scope="module")
def cluster(bare: Cluster) -> Cluster:
    """With the CRDs."""
    bare.install_crds(CRDS)
    return bare
