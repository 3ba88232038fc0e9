"""`trainop wait`: until a job has succeeded, failed, started or gone; for scripts."""

from __future__ import annotations

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("wait")
@click.argument("job")
@click.option(
    "--for",
    "goal",
    default="succeeded",
    show_default=True,
    metavar="GOAL",
    help="succeeded, failed, finished (either), running, deleted, or condition=TYPE such as condition=Suspended.",
)
@click.option("--timeout", type=options.Seconds(), help="Such as 90s, 10m or 1h30m; default: wait for ever.")
@options.namespaced
@options.output()
def command(job: str, goal: str, timeout: float | None, where: Where, output: str) -> None:
    """Wait until it is so. Each change on the way is told on stderr.

    Ends with 0 when it is so; with 1 when it cannot come to that any more, or the time is over. A job that has
    succeeded counts as one that runs: quick ones may be over before anybody has looked.

    \b
    Examples:
      trainop wait mnist
      trainop wait tfjob/mnist --for running --timeout 10m
      trainop wait mnist --for condition=Suspended
      trainop wait mnist --for deleted -o json
    """
    from trainop.cli.waiting import wait

    raise SystemExit(options.run(wait(job, goal, timeout, where, output)))
