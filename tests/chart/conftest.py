"""A cluster for a release of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import own
from tests.cluster.controlplane import Cluster


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """Without our CRDs: a release brings them, and its operator must not meet the jobs of other tests."""
    with own.control_plane() as cluster:
        yield cluster
