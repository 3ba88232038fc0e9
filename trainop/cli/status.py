"""`trainop status`: how a job and each of its members are doing; without a job, all of them in a table."""

from __future__ import annotations

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("status")
@click.argument("job", required=False)
@click.option("-w", "--watch", is_flag=True, help="Go on until the job has ended.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Without JOB: the jobs of all namespaces.")
@options.namespaced
@options.output()
def command(job: str | None, watch: bool, all_namespaces: bool, where: Where, output: str) -> None:
    """Show how a job is doing: its state and why, its members, what was last said about it.

    JOB is a name, KIND/NAME such as tfjob/mnist, a YAML file that names the job, or the directory of a local run
    (run/NAME: the last one of that name). Without JOB: a table of all jobs in the namespace. Ends with 0 whatever
    became of the job; `trainop wait` tells scripts.

    \b
    Examples:
      trainop status
      trainop status mnist
      trainop status tfjob/mnist -w
      trainop status mnist -o json
    """
    if job is None and watch:
        raise click.UsageError("name the job to watch")
    if job is not None and all_namespaces:
        raise click.UsageError("-A goes without a job: name the namespace of one with -n")
    from trainop.cli.watching import all_jobs, one_job

    if job is None:
        options.run(all_jobs(where, output, everywhere=all_namespaces))
    else:
        options.run(one_job(job, where, output, watch=watch))
