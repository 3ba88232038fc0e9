"""Printing the logs of a job's members: once or for as long as it runs, from a cluster or from a local run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from trainop import rundir
from trainop.cli.following import looks
from trainop.cli.options import Where
from trainop.cli.subject import opened, subject
from trainop.errors import Usage
from trainop.explain.evidence import Evidence
from trainop.explain.members import rows
from trainop.kube import facts, logs
from trainop.kube.client import Client
from trainop.kube.find import Found
from trainop.kube.logs import MOST_FOLLOWED, Ask, Follower, Line, Trouble
from trainop.registry import frameworks

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_cyan")
IN_FILES = "the logs of a local run are files without times: follow them with tail -f, and leave out --since"


async def read(job: str, where: Where, output: str, *, follow: bool, asked: dict[str, Any]) -> int:
    """The exit code."""
    meant = subject(job)
    if isinstance(meant, rundir.Run):
        if follow or asked["since"]:
            raise Usage(IN_FILES)
        evidence = rundir.look(meant, frameworks())
        Printer(evidence, output).print(rundir.read(meant, evidence, _ask(evidence, asked)))
        return 0
    async with opened(where, meant) as (api, found):
        evidence = await facts.look(api, found)
        ask, printer = _ask(evidence, asked), Printer(evidence, output)
        if not follow:
            return await _once(api, evidence, ask, printer)
        if (number := len(ask.chosen(evidence))) > MOST_FOLLOWED:
            many = f"{number} members are too many to follow at once (most: {MOST_FOLLOWED})"
            raise Usage(f"{many}: choose some with --role and --index")
        return await _follow(api, found, ask, printer)


def _ask(evidence: Evidence, asked: dict[str, Any]) -> Ask:
    known = [role.name for role in evidence.framework.roles]
    if asked["role"] and asked["role"].lower() not in map(str.lower, known):
        raise Usage(f"{evidence.framework.kind} has no role {asked['role']}; it has {', '.join(known)}")
    return Ask(**asked | {"container": asked["container"] or evidence.framework.container})


async def _once(api: Client, evidence: Evidence, ask: Ask, printer: Printer) -> int:
    lines, troubles = await logs.read(api, evidence, ask)
    printer.print(lines)
    for trouble in troubles:
        _complain(trouble)
    if not lines and not troubles:
        when = "before" if ask.previous else "yet"
        click.echo(f"{evidence.title}: nothing has been written {when}", err=True)
    return 3 if troubles else 0


async def _follow(api: Client, found: Found, ask: Ask, printer: Printer) -> int:
    troubles: list[Trouble] = []

    def troubled(trouble: Trouble) -> None:
        troubles.append(trouble)
        _complain(trouble)

    async for line in Follower(api, ask, troubled).lines(looks(lambda: facts.look(api, found))):
        printer.print([line])
    return 3 if troubles else 0


def _complain(trouble: Trouble) -> None:
    click.echo(f"trainop: the log of {trouble.member} cannot be read: {trouble.message}", err=True)


class Printer:
    def __init__(self, evidence: Evidence, output: str) -> None:
        job, kind = evidence.job, evidence.framework.kind
        self._json = output == "json"
        self._job = {"job": job.name, "kind": kind, "namespace": job.namespace}
        roles = enumerate(role.name for role in evidence.framework.roles)
        self._colours = {role: COLOURS[number % len(COLOURS)] for number, role in roles}
        self._width = max((len(row.name) for row in rows(evidence)), default=0)

    def print(self, lines: Iterable[Line]) -> None:
        """Each at once: somebody may be watching."""
        for line in lines:
            click.echo(self._as_json(line) if self._json else self._as_text(line))

    def _as_json(self, line: Line) -> str:
        own = {"role": line.role, "index": line.index, "attempt": line.attempt}
        return json.dumps(self._job | own | {"time": line.time or None, "message": line.message})

    def _as_text(self, line: Line) -> str:
        name = f"{line.role.lower()}-{line.index}"
        return click.style(f"{name:<{self._width}} |", fg=self._colours.get(line.role)) + f" {line.message}"
