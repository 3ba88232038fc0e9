"""The programs that judge the chart: helm itself, and Prometheus' own engine of queries."""

from __future__ import annotations

from pathlib import Path

from tests.cluster import binaries
from tests.cluster.build import Sources
from tests.cluster.progress import Progress

_WAY_OUT = "or leave these tests out with --ignore=tests/chart"
HELM = Sources(
    name="helm",
    folder=Path(__file__).parent,
    module="helm.sh/helm/v3",
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    way_out=_WAY_OUT,
)
PROMQL = Sources(
    name="promql",
    folder=Path(__file__).parent / "promql",
    module="github.com/prometheus/prometheus",
    packages={"promql": "."},
    way_out=_WAY_OUT,
)


def helm(progress: Progress) -> Path:
    """Builds it the first time, which takes minutes; raises Unavailable where that cannot be done."""
    return binaries.cached(HELM, tuple(HELM.packages), progress)["helm"]


def promql(progress: Progress) -> Path:
    """Reads queries and tells what each of them asks for and finds; see promql/main.go."""
    return binaries.cached(PROMQL, tuple(PROMQL.packages), progress)["promql"]
