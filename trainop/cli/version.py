"""`trainop version`: which version this is, for people and for scripts."""

from __future__ import annotations

import json

import click

from trainop import __version__


@click.command("version")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output: str) -> None:
    """Print the version.

    \b
    Examples:
      trainop version
      trainop version -o json
    """
    click.echo(json.dumps({"version": __version__}) if output == "json" else f"trainop {__version__}")
