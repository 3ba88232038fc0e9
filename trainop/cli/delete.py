"""`trainop delete`: a job and everything that was made for it."""

from __future__ import annotations

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("delete")
@click.argument("job")
@click.option("--wait", is_flag=True, help="Until its pods are gone, too.")
@options.namespaced
@options.output()
def command(job: str, wait: bool, where: Where, output: str) -> None:
    """Delete a job; the cluster takes away its pods and services.

    JOB is a name, KIND/NAME such as tfjob/mnist, or a YAML file that names the job. Nobody is asked twice. Only the
    very job that was found is deleted, not another that has got its name meanwhile.

    \b
    Examples:
      trainop delete mnist
      trainop delete -n team-a mxjob/lenet --wait
      trainop delete job.yaml -o json
    """
    from trainop.cli.changing import delete

    raise SystemExit(options.run(delete(job, where, output, wait=wait)))
