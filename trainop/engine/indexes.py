"""A set of member indexes as short text: {0, 1, 2, 5} is `0-2,5`, as in the status of an indexed Job."""

from __future__ import annotations

from collections.abc import Iterable


def render(indexes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse(text: str, below: int) -> frozenset[int]:
    """The indexes from 0 to `below`, exclusive; whatever else stands in the text is passed over."""
    found: set[int] = set()
    for run in text.split(","):
        first, _, last = run.partition("-")
        if _number(first) and (not last or _number(last)):
            found.update(range(int(first), min(int(last or first) + 1, below)))
    return frozenset(found)


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9
