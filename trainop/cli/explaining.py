"""What is to be explained, a job, a file or a local run, and how an explanation looks on a terminal."""

from __future__ import annotations

import click

from trainop import rundir
from trainop.cli.options import Where
from trainop.cli.subject import Written, opened, subject
from trainop.cli.text import printable, step, wrapped
from trainop.errors import NotThere, Unreachable
from trainop.explain.answer import explain
from trainop.explain.evidence import Evidence
from trainop.explain.findings import Answer, Finding
from trainop.explain.of_files import of_file
from trainop.kube import facts
from trainop.kube.cluster import wall_clock
from trainop.kube.find import Wanted
from trainop.registry import frameworks


async def answer(job: str, where: Where) -> tuple[Answer, Evidence]:
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
    async with opened(where, meant) as (api, found):
        return await facts.closely(api, await facts.look(api, found))


async def _of_file(meant: Written, where: Where) -> Evidence:
    """What is wrong with the file itself comes first; no cluster is needed to tell."""
    written = Evidence(framework=meant.framework, raw=meant.raw, now=wall_clock(), strict=True)
    if written.job.problems:
        return written
    try:
        return await _of_job(meant, where)
    except (NotThere, Unreachable):
        return written


def lines(finding: Finding) -> list[str]:
    shown = [click.style(line, bold=True) for line in wrapped(finding.message)]
    for told in finding.evidence:
        # What a program wrote keeps its shape.
        shown += [f"  {printable(told)}"] if " | " in told else wrapped(told, "  ", "    ")
    return [*shown, *(step(remedy, "  ") for remedy in finding.next)]
