"""What an explanation is made of: causes, each with its evidence and the next step; and how they are put in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple, TypeAlias, TypeVar

from trainop.explain.evidence import Evidence
from trainop.explain.members import Row

K = TypeVar("K")


class Finding(NamedTuple):
    cause: str
    """One CamelCase word for programs."""
    message: str
    """One sentence for people."""
    evidence: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    """What to do, a line each: a sentence, or a command."""


class Answer(NamedTuple):
    state: str
    findings: tuple[Finding, ...]


Cause: TypeAlias = Callable[[Evidence], Iterator[Finding]]


def alike(found: Iterable[tuple[K, Row]]) -> dict[K, list[Row]]:
    """Members of which the same is to be said, together."""
    groups: dict[K, list[Row]] = {}
    for key, row in found:
        groups.setdefault(key, []).append(row)
    return groups


def kubectl(evidence: Evidence, *words: str) -> str:
    return " ".join(("kubectl", "-n", evidence.job.namespace, *words))


def ours(evidence: Evidence, command: str, *words: str) -> str:
    """A command of our own about this job."""
    there = (f"{evidence.framework.word}/{evidence.job.name}", "-n", evidence.job.namespace)
    return " ".join(("trainop", command, *((evidence.home,) if evidence.home else there), *words))


def duration(passed: timedelta) -> str:
    """The two largest units: `45s`, `3m10s`, `2h5m`, `4d3h`."""
    seconds = max(0, int(passed.total_seconds()))
    units = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
    for place, (unit, size) in enumerate(units):
        if seconds >= size:
            larger, rest = divmod(seconds, size)
            smaller = rest // units[place + 1][1] if place + 1 < len(units) else 0
            return f"{larger}{unit}" + (f"{smaller}{units[place + 1][0]}" if smaller else "")
    return "0s"
