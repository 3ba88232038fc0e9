"""docs/reference/legacy.md names the kinds there are, and fields that are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trainop.registry import frameworks

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "legacy.md").read_text()
DIALECTS = [dialect for framework in frameworks().values() for dialect in framework.dialects]


def test_the_kinds_are_those_that_are_served() -> None:
    told = re.findall(r"^\| (\w+) \| `([\w.]+/\w+)` \| ([\w.]+) \|$", PAGE, re.MULTILINE)
    assert sorted(told) == sorted((it.kind, it.gvk.api_version, f"{it.plural}.{it.group}") for it in DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda it: it.word)
def test_every_field_of_the_page_is_read(dialect: Any) -> None:
    section = PAGE.partition(f"## Spec of a{'n' * (dialect.kind == 'MxJob')} {dialect.kind}")[2].partition(
        "\n## "
    )[0]
    fields = re.findall(r"^\| `spec\.([\w.\[\]]+)`", section, re.MULTILINE)
    assert len(fields) > 4
    spec: dict[str, Any] = {"replicaSpecs": [{}]}
    for field in fields:
        where, _, name = field.rpartition(".")
        inside = (
            spec["replicaSpecs"][0]
            if where == "replicaSpecs[]"
            else spec.setdefault(where, {})
            if where
            else spec
        )
        inside[name] = {} if name == "terminationPolicy" else "text"
    reading = dialect.manner.read({"spec": spec})
    assert reading.unknown == ()
    assert reading.remarks == ()
