"""What was measured beside what is allowed: one line each, and whether it is clearly too much."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bench.arena import Round
from bench.loads import Load
from bench.stats import Estimate, estimate, ratios

TIME, CPU, REQUESTS, IDLE, CACHED, GROWTH = 1.5, 2.5, 30.0, 80.0, 120.0, 1.15


class Line(Struct, frozen=True):
    what: str
    load: str
    measured: Estimate
    unit: str
    budget: float | None = None
    """None: nothing was promised."""

    @property
    def verdict(self) -> str:
        """OVER only where even the lower limit is; `over?` where more rounds may say something else."""
        if self.budget is None:
            return ""
        if self.measured.median <= self.budget:
            return "ok"
        return "OVER" if self.measured.low > self.budget else "over?"


def of_pairs(size: Load, pairs: Iterable[tuple[Round, Round]]) -> list[Line]:
    """Of one load: each time the null operator's round and ours."""
    theirs, ours = zip(*pairs, strict=True)
    load = str(size)
    lines = [
        Line("time to all pods", load, _multiple("to_all", ours, theirs), "x null", TIME),
        Line("CPU of a whole life", load, _multiple("cost", ours, theirs), "x null", CPU),
    ]
    lines += [
        Line(f"CPU/1,000 pods, {whose}", load, estimate(1e3 * one.cost / size.pods for one in rounds), "s")
        for whose, rounds in (("ours", ours), ("null", theirs))
    ]
    lines += [
        Line(what, load, estimate(1e3 * seconds for one in ours for seconds in getattr(one, field)), "ms")
        for what, field in (("pod runs → Running", "running"), ("pod ends → Succeeded", "ended"))
    ]
    return lines


def of_work(size: Load, theirs: Round, ours: Round) -> list[Line]:
    """Of rounds in which instructions were counted."""
    multiple = estimate([ours.cost / theirs.cost])
    each = estimate([ours.cost / size.pods / 1e6])
    return [
        Line("work of a whole life", str(size), multiple, "x null", CPU),
        Line("instructions a pod", str(size), each, "mio."),
    ]


def requests(load: Load, rounds: Iterable[Round]) -> Line:
    per_job = estimate(one.requests / load.jobs for one in rounds)
    return Line("requests per job", str(load), per_job, "", REQUESTS)


def _multiple(field: str, ours: Iterable[Round], theirs: Iterable[Round]) -> Estimate:
    values = [[float(getattr(one, field)) for one in rounds] for rounds in (ours, theirs)]
    return estimate(ratios(values[0], values[1]))


def table(lines: Iterable[Line]) -> list[str]:
    """As people read it: at most 80 characters wide."""
    rows = [f"{'':20} {'load':14} {'measured':>12}  {'95 %':^13} {'n':>3}  budget"]
    for line in lines:
        found = line.measured
        value = f"{_number(found.median)} {line.unit:6}"
        limits = f"{_number(found.low)} … {_number(found.high)}"
        promised = "" if line.budget is None else f"≤ {line.budget:g}"
        measured = f"{value:>12}  {limits:^13} {found.size:>3}"
        rows.append(f"{line.what:20} {line.load:14} {measured}  {promised:6} {line.verdict}")
    return [row.rstrip() for row in rows]


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"
