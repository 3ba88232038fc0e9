"""Showing how a job is doing, once or until it has ended, and all jobs in one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import click

from trainop import rundir
from trainop.cli import view
from trainop.cli.following import Look, looks, same
from trainop.cli.options import Where
from trainop.cli.subject import opened, subject
from trainop.errors import Unreachable
from trainop.explain.evidence import Evidence
from trainop.kube import facts
from trainop.kube.client import Client
from trainop.kube.cluster import wall_clock
from trainop.kube.find import every
from trainop.registry import frameworks


async def all_jobs(where: Where, output: str, *, everywhere: bool) -> None:
    login = where.credentials()
    namespace = None if everywhere else where.namespace or login.default_namespace
    async with Client(login) as api:
        found = await every(api, frameworks().values(), namespace)
    if output == "json":
        click.echo(json.dumps([view.one_of_many(it) for it in found], indent=2))
    elif not found:
        click.echo(f"no jobs in {f'namespace {namespace}' if namespace else 'any namespace'}", err=True)
    else:
        click.echo("\n".join(view.table(found, wall_clock(), namespaces=everywhere)))


async def one_job(job: str, where: Where, output: str, *, watch: bool) -> None:
    meant = subject(job)
    if isinstance(meant, rundir.Run):

        async def recorded() -> Evidence:
            return rundir.look(meant, frameworks())

        async def complete(evidence: Evidence) -> Evidence:
            return evidence

        await _show(_Source(recorded, complete), watch, output)
        return
    async with opened(where, meant) as (api, found):
        source = _Source(lambda: facts.look(api, found), lambda seen: facts.with_events(api, seen))
        await _show(source, watch, output)


class _Source(NamedTuple):
    look: Look
    told: Callable[[Evidence], Awaitable[Evidence]]
    """The same with its events: there may be many of them, so they are read only when something has changed."""

    async def patiently(self, evidence: Evidence) -> Evidence:
        """Without them where the server is silent: that must not end a watch."""
        try:
            return await self.told(evidence)
        except Unreachable:
            return evidence


async def _show(source: _Source, watch: bool, output: str) -> None:
    if not watch:
        _print(await source.told(await source.look()), output)
    elif output == "text" and sys.stdout.isatty():
        await _live(source)
    else:
        await _by_line(source, output)


def _print(evidence: Evidence, output: str, *, indent: int | None = 2) -> None:
    if output == "json":
        click.echo(json.dumps(view.as_json(evidence), indent=indent))
    else:
        click.echo("\n".join(view.lines(evidence)))


async def _live(source: _Source) -> None:
    """One screen, drawn anew until the job has ended; it stays there."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    shown: Evidence | None = None
    with Live(console=Console(), auto_refresh=False) as screen:
        async for evidence in looks(source.look):
            if evidence is None:
                screen.console.print("the job was deleted")
                return
            if shown is None or not same(shown, evidence):
                shown = await source.patiently(evidence)
            shown = replace(shown, now=evidence.now)
            screen.update(Text.from_ansi("\n".join(view.lines(shown))), refresh=True)
            if evidence.job.status.finished:
                return


async def _by_line(source: _Source, output: str) -> None:
    """A line for each change; for a program, the whole of it each time."""
    before = ""
    async for evidence in looks(source.look):
        if evidence is None:
            click.echo("the job was deleted", err=True)
            return
        news = view.summary(evidence)
        if news != before and output == "text":
            click.echo(news)
        elif news != before:
            _print(await source.patiently(evidence), output, indent=None)
        before = news
        if evidence.job.status.finished:
            return
