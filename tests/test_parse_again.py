"""Reading a job a second time: the same Job, for less."""

from __future__ import annotations

import pytest

from tests.builders import TF, Raw, a_manifest, a_status
from trainop.parse import parse, parse_again


@pytest.mark.parametrize(
    "change",
    [
        {"resourceVersion": "2"},
        {"resourceVersion": "2", "generation": 2},
        {"resourceVersion": "2", "annotations": {"a": "b"}},
        {"resourceVersion": "2", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"resourceVersion": "2", "uid": "another"},
    ],
)
def test_a_job_that_is_read_again_is_what_it_would_be_if_it_were_read_for_the_first_time(change: Raw) -> None:
    known = {"uid": "u", "generation": 1, "resourceVersion": "1"}
    before = parse(TF, a_manifest(TF, metadata=known, Worker=2))
    workers = 3 if "generation" in change or "uid" in change else 2
    status = a_status("Created", "Running")
    raw = a_manifest(TF, metadata=known | change, status=status, Worker=workers)
    assert parse_again(TF, raw, before) == parse(TF, raw)
    assert parse_again(TF, raw, None) == parse(TF, raw)


def test_the_spec_of_a_generation_is_read_once() -> None:
    known = {"uid": "u", "generation": 1, "resourceVersion": "1"}
    before = parse(TF, a_manifest(TF, metadata=known, Worker=2))
    again = parse_again(TF, a_manifest(TF, metadata=known | {"resourceVersion": "2"}, Worker=2), before)
    assert again.spec is before.spec
