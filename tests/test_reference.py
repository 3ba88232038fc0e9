"""docs/reference is what the code says."""

from __future__ import annotations

import pytest

from tools.reference import BUILT_IN, FOLDER, page
from trainop.registry import by_name


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_page_of_a_kind_is_not_stale(name: str) -> None:
    framework = by_name()[name]
    written = (FOLDER / f"{framework.kind.lower()}.md").read_text()
    assert written == page(framework), "run `make reference`"


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_field_has_a_meaning(name: str) -> None:
    rows = [
        line
        for line in page(by_name()[name]).splitlines()
        if line.startswith("| `spec") or "| `status" in line
    ]
    assert [row for row in rows if row.rstrip(" |").endswith("|")] == []
