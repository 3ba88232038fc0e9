"""The parser of queries, built where it is missing, and a cluster for a release of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chart import programs
from tests.cluster import own
from tests.cluster.controlplane import Cluster
from tests.cluster.progress import Progress


@pytest.fixture(scope="session")
def promql(fetched: Callable[[Callable[[Progress], Path]], Path]) -> Path:
    return fetched(programs.promql)


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """Without our CRDs: a release brings them, and its operator must not meet the jobs of other tests."""
    with own.control_plane() as cluster:
        yield cluster
