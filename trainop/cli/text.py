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
LONGEST_CELL = 26
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
    return click.style(word, fg=COLOURS[word]) if word in COLOURS else word


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], *, state: str = "STATE") -> list[str]:
    """Lines of a table. On a terminal the last column takes what is left of the width."""
    table = [list(head), *(_short(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head) - 1)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    lines = []
    for number, row in enumerate(table):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        if number:
            cells = [_state(cell) if head[i] == state else cell for i, cell in enumerate(cells)]
        lines.append("  ".join([*cells, _cut(row[-1], room) if sys.stdout.isatty() else row[-1]]).rstrip())
    return lines


def _short(row: Sequence[str]) -> list[str]:
    clean = [printable(cell).replace("\n", " ") for cell in row]
    return [*(_cut(cell, LONGEST_CELL) for cell in clean[:-1]), clean[-1]]


def _cut(cell: str, room: int) -> str:
    return cell if len(cell) <= max(room, 8) else f"{cell[: max(room, 8) - 1]}…"


def _state(cell: str) -> str:
    word = cell.rstrip()
    return coloured(word) + cell[len(word) :]
