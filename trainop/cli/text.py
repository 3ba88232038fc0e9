"""Text that fits on a terminal: sentences folded, tables in columns, nothing that the terminal would obey."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import click

WIDTH = 78
"""Of a terminal that has 80 columns, with room for a backslash."""
COLOURS = {
    "Running": "green",
    "running": "green",
    "Succeeded": "green",
    "succeeded": "green",
    "Failed": "red",
    "failed": "red",
    "Blocked": "red",
    "Restarting": "yellow",
    "restarting": "yellow",
    "Suspended": "yellow",
    "lost": "yellow",
}
LEAST = 16
"""Columns of a table that one cell gets where there is not enough room for all."""
COMMANDS = ("helm", "kubectl", "trainop")


def wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def step(remedy: str, indent: str = "      ") -> str:
    """What to do: a sentence, or a command, which can be copied from several lines, too."""
    end = " \\\n" if remedy.split()[0] in COMMANDS else "\n"
    return end.join(wrapped(remedy, f"{indent}-> ", f"{indent}   "))


def printable(text: str) -> str:
    """What others have written is not for the terminal to obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def coloured(word: str) -> str:
    """A kubelet has many words for trouble."""
    troubled = "Err" in word or "BackOff" in word
    colour = "red" if troubled else COLOURS.get(word)
    return click.style(word, fg=colour) if colour else word


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], *, state: str = "STATE") -> list[str]:
    """Lines of a table. On a terminal it is as wide as that, and cells that find no room are cut."""
    table = [list(head), *([printable(cell).replace("\n", " ") for cell in row] for row in rows)]
    *widths, last = [max(len(row[i]) for row in table) for i in range(len(head))]
    if sys.stdout.isatty():
        widths, last = _fitted(widths, shutil.get_terminal_size().columns)
    lines = []
    for number, row in enumerate(table):
        cells = [f"{_cut(cell, width):<{width}}" for cell, width in zip(row, widths, strict=False)]
        if number:
            cells = [_state(cell) if head[i] == state else cell for i, cell in enumerate(cells)]
        lines.append("  ".join([*cells, _cut(row[-1], last)]).rstrip())
    return lines


def _fitted(widths: list[int], room: int) -> tuple[list[int], int]:
    """The widest column gives way until the last one has some room, too."""
    widths = list(widths)
    while (left := room - sum(widths) - 2 * len(widths)) < LEAST and max(widths) > LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths, max(left, 1)


def _cut(cell: str, room: int) -> str:
    return cell if len(cell) <= room else f"{cell[: room - 1]}…"


def _state(cell: str) -> str:
    word = cell.rstrip()
    return coloured(word) + cell[len(word) :]
