"""Our histogram says what the library's says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from trainop.operator.metrics import SHORT, Durations

seconds = st.one_of(st.sampled_from(SHORT), st.floats(0, 100))


@given(st.lists(st.tuples(seconds, st.sampled_from(["done", "error"]))))
def test_its_page_is_that_of_the_library(observed: list[tuple[float, str]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    durations = Durations("pass_seconds", "One pass.", ("kind", "result"), SHORT)
    ours.register(durations)
    histogram = Histogram("pass_seconds", "One pass.", ("kind", "result"), buckets=SHORT, registry=theirs)
    for value, result in observed:
        durations.observe(value, "TFJob", result)
        histogram.labels("TFJob", result).observe(value)
    assert generate_latest(ours) == generate_latest(theirs)
