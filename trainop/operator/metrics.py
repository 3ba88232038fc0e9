"""What the operator counts, under the names that dashboards of the v1 operator know and some of its own."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from trainop import __version__

JOB = ("job_namespace", "framework")
ANSWER = ("verb", "resource", "code")
SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 900, 3600)
LONG = (10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600)
SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


disable_created_metrics()  # type: ignore[no-untyped-call]  # these double the page and nobody asks for them


class Answers(Collector):
    """Those of the API server, which are counted most often: a counter of the library takes a lock for each."""

    def __init__(self) -> None:
        self.seen: defaultdict[tuple[str, str, int], int] = defaultdict(int)

    def collect(self) -> Iterable[CounterMetricFamily]:
        told = CounterMetricFamily(
            "trainop_api_requests",
            "Answers of the API server; code 0: there was none.",
            labels=ANSWER,
        )
        for (verb, resource, code), count in self.seen.items():
            told.add_metric((verb, resource, str(code)), count)
        yield told


class Durations(Collector):
    """A histogram, lighter than the library's for the same reason."""

    def __init__(self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        self._name, self._text, self._labelnames, self._bounds = name, text, labels, bounds
        self._seen: dict[tuple[str, ...], list[float]] = {}
        """How many there were up to each bound and above the last one, then the sum of all."""

    def observe(self, seconds: float, *labels: str) -> None:
        seen = self._seen.get(labels)
        if seen is None:
            seen = self._seen[labels] = [0.0] * (len(self._bounds) + 2)
        seen[bisect_left(self._bounds, seconds)] += 1
        seen[-1] += seconds

    def collect(self) -> Iterable[HistogramMetricFamily]:
        told = HistogramMetricFamily(self._name, self._text, labels=self._labelnames)
        bounds = [*map(floatToGoString, (*self._bounds, inf))]
        for labels, (*counts, total) in self._seen.items():
            told.add_metric(labels, [*zip(bounds, accumulate(counts), strict=True)], total)
        yield told


class Metrics:
    """Of one process. Counters begin at zero with it, as Prometheus expects."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

        def jobs(what: str, text: str) -> Counter:
            return Counter(f"training_operator_jobs_{what}", text, JOB, registry=registry)

        self.created = jobs("created", "Jobs taken up for the first time.")
        self.deleted = jobs("deleted", "Jobs deleted because their time to live was over.")
        self.successful = jobs("successful", "Jobs that have succeeded.")
        self.failed = jobs("failed", "Jobs that have failed, for whatever reason.")
        self.restarted = jobs("restarted", "Restarts of members, as counted in status.restartCount.")
        self.submit_to_running = Durations(
            "trainop_job_submit_to_running_seconds",
            "From the creation of a job, or its resumption, to its condition Running.",
            ("framework",),
            SECONDS,
        )
        self.run = Durations(
            "trainop_job_run_seconds", "From the start of a job to its end.", ("framework", "result"), LONG
        )
        self.reconcile = Durations(
            "trainop_reconcile_seconds", "One pass over one job.", ("kind", "result"), SHORT
        )
        self.queue_depth = Gauge("trainop_queue_depth", "Jobs that wait for a pass.", registry=registry)
        self.queue_oldest = Gauge(
            "trainop_queue_oldest_seconds", "How long the first of them has waited.", registry=registry
        )
        self._answers = Answers()
        for collector in (self.submit_to_running, self.run, self.reconcile, self._answers):
            registry.register(collector)
        self.cache_age = Gauge(
            "trainop_cache_age_seconds",
            "Since the API server was last heard of this kind.",
            ("resource",),
            registry=registry,
        )
        self.cache_objects = Gauge(
            "trainop_cache_objects", "Objects that are kept in memory.", ("resource",), registry=registry
        )
        self.watch_errors = Counter(
            "trainop_watch_errors", "Watches that ended with an error.", ("resource",), registry=registry
        )
        self.events_dropped = Counter(
            "trainop_events_dropped", "Events that nobody was told of.", registry=registry
        )
        self.leader = Gauge("trainop_leader", "1 while this process leads.", registry=registry)
        Info("trainop_build", "What runs here.", registry=registry).info({"version": __version__})

    def requested(self, verb: str, resource: str, code: int) -> None:
        self._answers.seen[verb, resource, code] += 1

    def watch_failed(self, resource: str) -> None:
        self.watch_errors.labels(resource).inc()

    def zero(self, namespace: str, framework: str) -> None:
        """So that a rate is known from the first job of a namespace on."""
        counters: Iterable[Any] = (
            self.created, self.deleted, self.successful, self.failed, self.restarted,
        )  # fmt: skip
        for counter in counters:
            counter.labels(namespace, framework)

    def page(self) -> bytes:
        return generate_latest(self._registry)
