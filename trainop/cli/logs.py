"""`trainop logs`: what all members of a job have written, interleaved, and what they write from now on."""

from __future__ import annotations

from typing import Any

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("logs")
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended, through all restarts.")
@click.option("--role", default="", help="Only this role, such as Worker.")
@click.option("--index", type=click.IntRange(0), help="Only the members of this number.")
@click.option("--previous", is_flag=True, help="What was written before the last restart.")
@click.option("--since", type=options.Seconds(), help="Only what is younger, such as 10m.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines of each member.")
@click.option("-c", "--container", help="Of each pod; default: the one that does the training.")
@options.namespaced
@options.output()
def command(job: str, follow: bool, where: Where, output: str, **asked: Any) -> None:
    """Print the logs of all members, interleaved in the order in which they were written.

    JOB is a name, KIND/NAME such as tfjob/mnist, a YAML file that names the job, or the directory of a local run
    (run/NAME: the last one of that name). With -o json each line is an object: job, kind, namespace, role, index,
    attempt, time and message.

    \b
    Examples:
      trainop logs mnist
      trainop logs mnist -f
      trainop logs tfjob/mnist --role worker --index 1 --previous
      trainop logs mnist --since 10m --tail 100 -o json
    """
    if follow and asked["previous"]:
        raise click.UsageError(
            "what was written before a restart cannot be followed: leave out -f or --previous"
        )
    from trainop.cli.reading import read

    raise SystemExit(options.run(read(job, where, output, follow=follow, asked=asked)))
