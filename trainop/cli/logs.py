"""`trainop logs`: what all members of a job have written, interleaved, and what they write from now on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from trainop.cli import options
from trainop.cli.options import Where

if TYPE_CHECKING:  # it takes long to import, and --help needs none of it
    from trainop.explain.evidence import Evidence
    from trainop.kube.client import Client
    from trainop.kube.find import Found
    from trainop.kube.logs import Ask, Line, Trouble

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_cyan")


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
    raise SystemExit(options.run(_logs(job, follow, where, output, asked)))


async def _logs(job: str, follow: bool, where: Where, output: str, asked: dict[str, Any]) -> int:
    from trainop import rundir
    from trainop.cli.subject import opened, subject
    from trainop.errors import Usage
    from trainop.kube import facts
    from trainop.kube.logs import MOST_FOLLOWED
    from trainop.registry import frameworks

    meant = subject(job)
    if isinstance(meant, rundir.Run):
        if follow or asked["since"]:
            raise Usage(
                "the logs of a local run are files: follow them with tail -f, there are no times in them"
            )
        evidence = rundir.look(meant, frameworks())
        printer = Printer(evidence, output)
        printer.all(rundir.read(meant, evidence, _ask(evidence, asked)))
        return 0
    async with opened(where, meant) as (api, found):
        evidence = await facts.look(api, found)
        ask, printer = _ask(evidence, asked), Printer(evidence, output)
        if follow:
            if (number := len(ask.chosen(evidence))) > MOST_FOLLOWED:
                choose = "choose some with --role and --index"
                raise Usage(
                    f"{number} members are too many to follow at once (most: {MOST_FOLLOWED}): {choose}"
                )
            return await _follow(api, found, ask, printer)
        return await _read(api, evidence, ask, printer)


def _ask(evidence: Evidence, asked: dict[str, Any]) -> Ask:
    from trainop.errors import Usage
    from trainop.kube.logs import Ask

    known = [role.name for role in evidence.framework.roles]
    if asked["role"] and asked["role"].lower() not in map(str.lower, known):
        raise Usage(f"{evidence.framework.kind} has no role {asked['role']}; it has {', '.join(known)}")
    return Ask(**asked | {"container": asked["container"] or evidence.framework.container})


async def _read(api: Client, evidence: Evidence, ask: Ask, printer: Printer) -> int:
    from trainop.kube import logs

    lines, troubles = await logs.read(api, evidence, ask)
    printer.all(lines)
    for trouble in troubles:
        _complain(trouble)
    if not lines and not troubles:
        click.echo(
            f"{evidence.title}: nothing has been written{' before' if ask.previous else ' yet'}", err=True
        )
    return 3 if troubles else 0


async def _follow(api: Client, found: Found, ask: Ask, printer: Printer) -> int:
    from trainop.cli.following import looks
    from trainop.kube import facts
    from trainop.kube.logs import Follower

    troubles: list[Trouble] = []

    def troubled(trouble: Trouble) -> None:
        troubles.append(trouble)
        _complain(trouble)

    async for line in Follower(api, ask, troubled).lines(looks(lambda: facts.look(api, found))):
        printer.one(line)
    return 3 if troubles else 0


def _complain(trouble: Trouble) -> None:
    click.echo(f"trainop: the log of {trouble.member} cannot be read: {trouble.message}", err=True)


class Printer:
    def __init__(self, evidence: Evidence, output: str) -> None:
        from trainop.explain.members import rows

        self._json = output == "json"
        job = evidence.job
        self._job = {"job": job.name, "kind": evidence.framework.kind, "namespace": job.namespace}
        members = list(rows(evidence))
        roles = [role.name for role in evidence.framework.roles]
        self._colours = {role: COLOURS[n % len(COLOURS)] for n, role in enumerate(roles)}
        self._width = max((len(row.name) for row in members), default=0)

    def all(self, lines: list[Line]) -> None:
        for line in lines:
            self.one(line)

    def one(self, line: Line) -> None:
        """Written at once: somebody may be watching."""
        if self._json:
            own = {"role": line.role, "index": line.index, "attempt": line.attempt}
            click.echo(json.dumps(self._job | own | {"time": line.time or None, "message": line.message}))
            return
        name = f"{line.role.lower()}-{line.index}"
        mark = click.style(f"{name:<{self._width}} |", fg=self._colours.get(line.role))
        click.echo(f"{mark} {line.message}")
