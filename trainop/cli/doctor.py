"""`trainop doctor`: what is wrong with an installation, and what to do about it."""

from __future__ import annotations

import json

import click

from trainop.cli import lines, options
from trainop.cli.options import Where
from trainop.doctor.examine import examine
from trainop.doctor.findings import Finding
from trainop.kube.client import Client
from trainop.registry import frameworks


@click.command("doctor")
@options.cluster
@options.output()
def command(where: Where, output: str) -> None:
    """Say what is wrong with the installation in a cluster, and what to do about it.

    Looks at the CRDs and their version, the operator's Deployment, each of its rights, its leader, and other
    operators that work on the same kinds. Changes nothing. Ends with 1 if there is a problem, with 3 if the
    cluster does not answer.

    \b
    Examples:
      trainop doctor
      trainop doctor --context production -o json
    """
    login, installed = where.credentials(), frameworks()

    async def look() -> list[Finding]:
        found = []
        async with Client(login) as api:
            async for finding in examine(api, installed):
                if output == "text":
                    lines.tell(finding.level, f"{finding.about}: {finding.message}", finding.remedy)
                found.append(finding)
        return found

    found = options.run(look())
    if output == "json":
        click.echo(json.dumps([finding._asdict() for finding in found], indent=2))
    if output == "text":
        click.echo(f"\n{_summary(found)}")
    raise SystemExit(1 if _number(found, "problem") else 0)


def _number(found: list[Finding], level: str) -> int:
    return sum(finding.level == level for finding in found)


def _summary(found: list[Finding]) -> str:
    counted = [
        f"{number} {level}{'s' * (number != 1)}"
        for level in ("problem", "warning")
        if (number := _number(found, level))
    ]
    return ", ".join(counted) or "nothing is wrong"
