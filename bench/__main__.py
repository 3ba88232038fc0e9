"""`make bench`: what the operator costs beside one that only sends the creates, on a real control plane."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec
import uvloop

from bench import budgets, proc
from bench.arena import ARMS, Arena, Round, Wrong, arena
from bench.budgets import Line
from bench.loads import BURST, CACHED, GROWTH, IN_TURN, LARGE, Load
from bench.stats import estimate, exponent
from bench.work import Instructions, missing
from tests.cluster import binaries, progress
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster, ControlPlane, Refused
from tests.cluster.shared import CRDS
from trainop.errors import TrainopError

PAIRED = {"burst": BURST, "turn": IN_TURN, "large": LARGE}
PARTS = (*PAIRED, "growth", "memory", "work")
PAIRS_UNTIL, GROWTH_UNTIL = 150.0, 230.0
"""Seconds since the start: no pair and no sweep is begun that would not be done by then."""
FEWEST_PAIRS, MOST_PAIRS = 2, 12


class Bench:
    def __init__(self, where: Arena, parts: frozenset[str], shown: progress.Progress, started: float) -> None:
        self._arena, self._parts, self._shown, self._started = where, parts, shown, started
        self.rounds: list[Round] = []

    async def lines(self) -> list[Line]:
        found: list[Line] = []
        idle = proc.resident(self._arena.pids["ours"])
        found += await self._pairs({name: load for name, load in PAIRED.items() if name in self._parts})
        if "growth" in self._parts:
            found.append(await self._growth())
        if "memory" in self._parts:
            found.append(_memory("memory (RSS), idle", "no jobs", idle, budgets.IDLE))
            async with self._step(f"{CACHED.pods:,} pods that stay, for the memory"):
                await self._arena.fill(CACHED)
            held = proc.resident(self._arena.pids["ours"])
            found.append(_memory("memory (RSS), busy", f"{CACHED.pods:,} pods", held, budgets.CACHED))
        return found

    async def _pairs(self, loads: dict[str, Load]) -> list[Line]:
        """Null, ours, ours, null and so on; the first pair of each load warms up and does not count."""
        pairs: dict[str, list[tuple[Round, Round]]] = {name: [] for name in loads}
        begun = self._elapsed
        for number in range(1 + MOST_PAIRS if loads else 0):
            if number > FEWEST_PAIRS and 2 * self._elapsed - begun > PAIRS_UNTIL:
                break
            begun = self._elapsed
            for name, load in loads.items():
                what = f"pair {number}" if number else "warm-up"
                async with self._step(f"{load}: {what}"):
                    order = ARMS if number % 2 else ARMS[::-1]
                    done = {arm: await self._arena.round(load, arm) for arm in order}
                if number:
                    pairs[name].append((done["null"], done["ours"]))
                    self.rounds += done.values()
                self._say(done["null"], done["ours"])
        lines = [line for name in loads for line in budgets.of_pairs(loads[name], pairs[name])]
        if "burst" in pairs:
            lines.append(budgets.requests(BURST, (ours for _, ours in pairs["burst"])))
        return lines

    async def _growth(self) -> Line:
        exponents: list[float] = []
        begun = self._elapsed
        while not exponents or 2 * self._elapsed - begun < GROWTH_UNTIL:
            begun, points = self._elapsed, []
            for load in GROWTH:
                async with self._step(f"{load}: growth, sweep {len(exponents) + 1}"):
                    done = await self._arena.round(load, "ours")
                self.rounds.append(done)
                points.append((float(load.replicas), done.cost))
                self._shown.done(f"{done.cost:.2f} s CPU, {1e6 * done.cost / load.replicas:.0f} µs a member")
            exponents.append(exponent(points))
        sizes = f"{GROWTH[0].replicas} … {GROWTH[-1].replicas:,}"
        return Line("CPU growth, exponent", sizes, estimate(exponents), "", budgets.GROWTH)

    async def work(self) -> list[Line]:
        """Once each is enough, when it has been done before: it is nearly the same every time."""
        lines: list[Line] = []
        for load in PAIRED.values():
            done = {}
            for arm in ARMS:
                async with self._step(f"{load}: instructions, {arm}"):
                    await self._arena.round(load, arm)  # opens the connections
                    done[arm] = await self._arena.round(load, arm)
                self._shown.done(f"{done[arm].cost / load.pods / 1e6:.2f} million a pod")
            lines += budgets.of_work(load, done["null"], done["ours"])
        return lines

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _say(self, null: Round, ours: Round) -> None:
        time_, cpu = ours.to_all / null.to_all, ours.cost / null.cost
        self._shown.done(
            f"all pods {null.to_all:.2f} / {ours.to_all:.2f} s ({time_:.2f}), "
            f"CPU {null.cost:.2f} / {ours.cost:.2f} s ({cpu:.2f})"
        )

    @asynccontextmanager
    async def _step(self, text: str) -> AsyncIterator[None]:
        self._shown.step(f"{self._elapsed:3.0f} s  {text}")
        beats = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beats.cancel()

    async def _beat(self) -> None:
        started = time.monotonic()
        while True:
            await asyncio.sleep(self._shown.pause)
            self._shown.beat(time.monotonic() - started)


def _memory(what: str, load: str, mib: float, budget: float) -> Line:
    return Line(what, load, estimate([mib]), "MiB", budget)


async def _measured(cluster: Cluster, parts: frozenset[str]) -> tuple[list[Line], list[Round]]:
    shown, started = progress.on_stderr(), time.monotonic()
    async with arena(cluster) as where:
        bench = Bench(where, parts, shown, started)
        lines = await bench.lines()
    if "work" in parts:
        with TemporaryDirectory(prefix="trainop-bench-") as folder:
            async with arena(cluster, Instructions(Path(folder))) as where:
                lines += await Bench(where, parts, shown, started).work()
    return lines, bench.rounds


def _shown(lines: list[Line], rounds: list[Round], output: str) -> Iterator[str]:
    if output == "json":
        told = [{**msgspec.to_builtins(line), "verdict": line.verdict} for line in lines]
        yield msgspec.json.format(msgspec.json.encode({"lines": told, "rounds": rounds})).decode()
    else:
        yield from budgets.table(lines)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Measure this part; repeatable.  [default: all of them]",
)
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Format."
)
def main(parts: tuple[str, ...], output: str) -> None:
    """Measure the operator on a control plane of its own, in under 8 minutes.

    \b
    burst    30 jobs of 10 members at once
    turn     20 jobs of 3 members, one after another
    large    one job of 200 members
    growth   one job of 125 … 1,000 members: how CPU grows
    memory   idle, and with 5,000 pods
    work     the first three once more, in instructions, which valgrind counts

    Exit code 1: a budget is clearly exceeded, its whole interval lies above.

    \b
    Examples:
      make bench
      python -m bench --only burst --only turn
      python -m bench -o json > bench.json
    """
    found = binaries.find(progress.on_stderr())
    wanted = frozenset(parts or PARTS)
    if "work" in wanted and (why := missing()):
        click.echo(f"instructions are not counted: {why}", err=True)
        wanted -= {"work"}
    with ControlPlane(found, crds=CRDS) as cluster:
        lines, rounds = uvloop.run(_measured(cluster, wanted))
    for text in _shown(lines, rounds, output):
        click.echo(text)
    sys.exit(any(line.verdict == "OVER" for line in lines))


if __name__ == "__main__":
    try:
        main(prog_name="python -m bench")
    except (Unavailable, Refused, Wrong, TimeoutError, ChildProcessError, TrainopError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
