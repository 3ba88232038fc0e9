"""`trainop explain`: why a job is not running or why it has failed, in sentences, with the next step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from trainop.cli import options
from trainop.cli.options import Where

if TYPE_CHECKING:  # it takes long to import, and --help needs none of it
    from trainop.cli.subject import Written
    from trainop.explain.evidence import Evidence
    from trainop.explain.findings import Answer, Finding
    from trainop.kube.find import Wanted


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
    answer, evidence = options.run(_answer(job, where))
    if output == "json":
        findings = [finding._asdict() for finding in answer.findings]
        click.echo(json.dumps({"state": answer.state, "findings": findings}, indent=2))
    else:
        click.echo("\n\n".join("\n".join(_lines(finding)) for finding in answer.findings))
    for unseen in evidence.unseen:
        click.echo(f"trainop: {unseen}", err=True)


async def _answer(job: str, where: Where) -> tuple[Answer, Evidence]:
    from trainop import rundir
    from trainop.cli.subject import Written, subject
    from trainop.explain.answer import explain
    from trainop.explain.of_files import of_file
    from trainop.registry import frameworks

    match subject(job):
        case rundir.Run() as run:
            evidence = rundir.look(run, frameworks())
        case Written() as written:
            evidence = await _of_file(written, where)
            if evidence.strict:
                return of_file(evidence, str(written.path)), evidence
        case wanted:
            evidence = await _of_job(wanted, where)
    return explain(evidence), evidence


async def _of_job(meant: Wanted | Written, where: Where) -> Evidence:
    from trainop.cli.subject import opened
    from trainop.kube import facts

    async with opened(where, meant) as (api, found):
        return await facts.closely(api, await facts.look(api, found))


async def _of_file(meant: Written, where: Where) -> Evidence:
    """What is wrong with the file itself comes first; no cluster is needed to tell."""
    from trainop.errors import NotThere, Unreachable
    from trainop.explain.evidence import Evidence
    from trainop.kube.cluster import wall_clock

    written = Evidence(framework=meant.framework, raw=meant.raw, now=wall_clock(), strict=True)
    if written.job.problems:
        return written
    try:
        return await _of_job(meant, where)
    except (NotThere, Unreachable):
        return written


def _lines(finding: Finding) -> list[str]:
    from trainop.cli.text import printable, step, wrapped

    lines = [click.style(line, bold=True) for line in wrapped(finding.message)]
    for told in finding.evidence:
        lines += [f"  {printable(told)}"] if " | " in told else wrapped(told, "  ", "    ")
    return [*lines, *(step(remedy, "  ") for remedy in finding.next)]
