"""`trainop explain`: why a job is not running or why it has failed, in sentences, with the next step."""

from __future__ import annotations

import json

import click

from trainop.cli import options
from trainop.cli.options import Where


@click.command("explain")
@click.argument("job", metavar="JOB|FILE|RUN_DIR")
@options.namespaced
@options.output()
def command(job: str, where: Where, output: str) -> None:
    """Say why a job is not running or why it has failed: the first cause first, with evidence and the next step.

    Reads the job, its pods, their events and logs, quotas and the PodGroup, as far as you may. JOB is a name,
    KIND/NAME such as tfjob/mnist, or the directory of a local run (run/NAME: the last one of that name). A FILE is
    checked first; when nothing is wrong with it, the job that it names is looked for. Ends with 0 whenever there is
    an answer.

    \b
    Examples:
      trainop explain mnist
      trainop explain tfjob/mnist -n team-a -o json
      trainop explain job.yaml
    """
    from trainop.cli.explaining import answer, lines

    told, evidence = options.run(answer(job, where))
    if output == "json":
        findings = [finding._asdict() for finding in told.findings]
        click.echo(json.dumps({"state": told.state, "findings": findings}, indent=2))
    else:
        click.echo("\n\n".join("\n".join(lines(finding)) for finding in told.findings))
    for unseen in evidence.unseen:
        click.echo(f"trainop: {unseen}", err=True)
