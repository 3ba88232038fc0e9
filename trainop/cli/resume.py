"""`trainop resume`: let a suspended job start anew."""

from __future__ import annotations

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("resume")
@click.argument("job")
@options.namespaced
@options.output()
def command(job: str, where: Where, output: str) -> None:
    """Let a suspended job start anew. All of its members run again.

    JOB is a name, KIND/NAME such as tfjob/mnist, or a YAML file that names the job. Ends with 0 also when it is so
    already, with 1 when the job has ended.

    \b
    Examples:
      trainop resume mnist
      trainop resume tfjob/mnist -n team-a -o json
    """
    from trainop.cli.changing import suspend

    raise SystemExit(options.run(suspend(job, where, output, suspended=False)))
