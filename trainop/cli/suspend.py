"""`trainop suspend`: take a job's pods away until it is resumed."""

from __future__ import annotations

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("suspend")
@click.argument("job")
@options.namespaced
@options.output()
def command(job: str, where: Where, output: str) -> None:
    """Take a job's pods away until it is resumed. What has succeeded so far is forgotten then: it starts anew.

    JOB is a name, KIND/NAME such as tfjob/mnist, or a YAML file that names the job. Ends with 0 also when it is so
    already, with 1 when the job has ended.

    \b
    Examples:
      trainop suspend mnist
      trainop suspend tfjob/mnist -n team-a -o json
    """
    from trainop.cli.changing import suspend

    raise SystemExit(options.run(suspend(job, where, output, suspended=True)))
