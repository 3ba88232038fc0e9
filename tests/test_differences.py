"""The page on what trainop does differently: each line of it names tests that exist and run on a real API server."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "differences.md"
ON_A_CLUSTER = {
    "apart", "bare", "cluster", "crds", "mnist", "played", "served", "server", "site", "stage",
}  # fmt: skip
"""Fixtures that stand for a real API server, in one of their variants at least."""


def lines() -> dict[str, list[str]]:
    """The tests of each line, by its topic."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {
        f"{number} {row[0].lstrip('| ')}": re.findall(r"`(test_\w+)`", row[-1])
        for number, row in enumerate(rows)
        if row[-1] != "proven by |"
    }


@cache
def fixtures_by_test() -> dict[str, set[str]]:
    """What each test asks for, by its name."""
    trees = (ast.parse(path.read_text()) for path in (ROOT / "tests").rglob("test_*.py"))
    return {
        node.name: {argument.arg for argument in node.args.args}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("topic", lines())
def test_each_difference_is_proven_on_a_real_api_server(topic: str) -> None:
    known, named = fixtures_by_test(), lines()[topic]
    assert named
    assert [name for name in named if not known.get(name, set()) & ON_A_CLUSTER] == []
