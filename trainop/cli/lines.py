"""How findings are shown on a terminal of 80 columns: a mark, what was found, and what to do about it."""

from __future__ import annotations

from typing import Literal

import click

from trainop.cli.text import step, wrapped

MARKS = {"ok": ("ok", "green"), "warning": ("warn", "yellow"), "problem": ("FAIL", "red")}


def tell(level: Literal["ok", "warning", "problem"], text: str, remedy: str = "") -> None:
    """The remedy may have several lines."""
    word, colour = MARKS[level]
    lines = wrapped(text, " " * 5, " " * 6)
    click.echo(click.style(f"{word:<4}", fg=colour) + "\n".join(lines)[4:])
    for line in remedy.splitlines():
        click.echo(step(line))
