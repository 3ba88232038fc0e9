"""How findings are shown on a terminal of 80 columns: a mark, what was found, and what to do about it."""

from __future__ import annotations

import textwrap
from typing import Literal

import click

WIDTH = 78
"""Of a terminal that has 80 columns, with room for a backslash."""
COMMANDS = ("helm", "kubectl", "trainop")
MARKS = {"ok": ("ok", "green"), "warning": ("warn", "yellow"), "problem": ("FAIL", "red")}


def tell(level: Literal["ok", "warning", "problem"], text: str, remedy: str = "") -> None:
    """The remedy may have several lines."""
    word, colour = MARKS[level]
    lines = _wrapped(text, " " * 5, " " * 6)
    click.echo(click.style(f"{word:<4}", fg=colour) + "\n".join(lines)[4:])
    for line in remedy.splitlines():
        # A command can be copied from several lines, too.
        end = " \\\n" if line.split()[0] in COMMANDS else "\n"
        click.echo(end.join(_wrapped(line, "      -> ", " " * 9)))


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
