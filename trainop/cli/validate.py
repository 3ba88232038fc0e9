"""`trainop validate`: every mistake in files with jobs, before a cluster is asked."""

from __future__ import annotations

import click

from trainop.cli import mistakes


@click.command("validate")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(paths: tuple[str, ...], output: str) -> None:
    """Tell every mistake in the jobs of these files, with its place and what to write instead.

    PATH is a file, a folder (with all *.yaml, *.yml and *.json in it) or - for stdin. The rules are those of the
    CRDs; a field that nobody knows is a mistake too. Objects of other kinds are skipped. Needs no cluster. Ends
    with 2 if there is a mistake.

    \b
    Examples:
      trainop validate job.yaml
      trainop validate jobs/ -o json
      cat job.yaml | trainop validate -
    """
    report = mistakes.check(paths)
    if output == "json":
        click.echo(mistakes.as_json(report.mistakes))
    else:
        mistakes.show(report.mistakes)
        click.echo(mistakes.summary(report))
    raise SystemExit(2 if report.mistakes else 0)
