"""`python -m bench.plan`: what one plan() costs, as a multiple of encoding the pods it asks for.

Ratios hold on a busy machine where seconds do not: both sides are measured in turn, in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from typing import Any

import click
import msgspec

from trainop.engine import pods
from trainop.engine.plan import plan
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import Job, World
from trainop.parse import parse
from trainop.registry import frameworks

ROUNDS = 7


@click.command()
@click.argument("replicas", nargs=-1, type=int)
def main(replicas: tuple[int, ...]) -> None:
    """Plan a TFJob of REPLICAS workers from nothing; default: 10 and 1000."""
    framework = next(f for f in frameworks().values() if f.kind == "TFJob")
    container = {"name": "tensorflow", "image": "example/train"}
    click.echo(f"{'replicas':>8} {'plan':>12} {'encode pods':>12} {'ratio':>7}")
    for count in replicas or (10, 1000):
        replica = {"replicas": count, "template": {"spec": {"containers": [container]}}}
        raw = {"metadata": {"name": "bench", "uid": "u"}, "spec": {"tfReplicaSpecs": {"Worker": replica}}}
        pairs = _measured(framework, parse(framework, raw), repeats=max(1, 2000 // count))
        ours, theirs = median(p for p, _ in pairs), median(e for _, e in pairs)
        ratio = median(p / e for p, e in pairs)
        click.echo(f"{count:>8} {ours * 1e6:>9.0f} µs {theirs * 1e6:>9.0f} µs {ratio:>7.2f}")


def _measured(framework: Framework[Any], job: Job[Any], repeats: int) -> list[tuple[float, float]]:
    """CPU seconds of a plan and of encoding its pods, in pairs."""
    world, members = World(now=datetime(2026, 1, 1, tzinfo=UTC)), topology(framework, job)

    def encode() -> None:
        environment = framework.bootstrap(job, members)
        for member in members:
            msgspec.json.encode(pods.manifest(framework, job, member, environment(member)))

    return [
        (_seconds(lambda: plan(framework, job, world), repeats), _seconds(encode, repeats))
        for _ in range(ROUNDS)
    ]


def _seconds(call: Callable[[], object], repeats: int) -> float:
    started = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - started) / repeats


if __name__ == "__main__":
    main()
