"""What a person sees of a run: where it is kept, what is different here, how it goes, how it ended and why."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from trainop.cli.run_lines import Lines
from trainop.cli.run_table import LiveTable
from trainop.framework import Framework
from trainop.kube.port import Raw, Resource
from trainop.local import members
from trainop.local.book import Book
from trainop.local.folder import Folder
from trainop.local.members import Row
from trainop.local.run import Why
from trainop.local.tails import Tails, ending

MOST_LOGS, MOST_LINES = 3, 10
"""Of members that failed, at the end."""

STOPPING = "stopping all members; Ctrl-C again kills them"
FOLDED: Any = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}


class Screen:
    def __init__(self, framework: Framework[Any], folder: Folder, *, to_stderr: bool, tail: bool) -> None:
        self.book = Book(framework, self._heard)
        self._folder, self._to_stderr = folder, to_stderr
        tails = Tails(folder)
        self._lines = Lines(self._echo, tails, tail=tail)
        stream = sys.stderr if to_stderr else sys.stdout
        console = Console(file=stream, highlight=False)
        self._width = console.width if console.is_terminal else 10_000
        live = console.is_terminal and not tail and not {"NO_COLOR", "CI"} & os.environ.keys()
        self._table = LiveTable(console, self.book, tails) if live else None

    def begin(self, kind: str, names: list[str], remarks: list[str]) -> None:
        for remark in remarks:
            self._echo(textwrap.fill(f"note: {remark}", self._width, **FOLDED))
        self._echo(f"{kind}: logs and state are kept in\n  {self._folder.path}\n")
        self._lines.size(names)
        if self._table:
            self._table.begin()

    def tick(self) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone: the run goes on without
            if self._table:
                self._table.tick()
            else:
                self._lines.tick(self.book)

    def stopping(self) -> None:
        if self._table:
            self._table.note = STOPPING
        else:
            self._echo(STOPPING)

    def end(self, why: Why, limit: str) -> None:
        if self._table:
            with contextlib.suppress(OSError):
                self._table.end()
        match why:
            case Why.INTERRUPTED:
                self._echo("\ninterrupted: all members have been stopped")
            case Why.LATE:
                self._echo(f"\nthe job was not done after {limit} (--timeout): all members have been stopped")
            case Why.ENDED if not self.succeeded:
                self._show_failures()
                self._echo("\n" + click.style(self.book.state.get("message", ""), fg="red"))
            case Why.ENDED:
                pass  # the last line, or the table, says so

    @property
    def succeeded(self) -> bool:
        return bool(self.book.state.get("type") == "Succeeded")

    def _heard(self, what: Resource, old: Raw | None, new: Raw) -> None:
        if not self._table:
            self._lines.heard(what, old, new)

    def _show_failures(self) -> None:
        for row, log in list(self._failures())[:MOST_LOGS]:
            end = members.meaning(row.exit_code or 0)
            self._echo(f"\n{click.style(row.label, bold=True)} ended with {end}; the last lines of {log}:")
            for line in ending(log, MOST_LINES):
                self._echo(f"  {line}")

    def _failures(self) -> Iterator[tuple[Row, Path]]:
        """Those that failed by themselves first; one that was stopped may have crashed before."""
        failed = [row for row in members.rows(self.book) if row.exit_code]
        for row in sorted(failed, key=lambda row: row.state != "failed"):
            log = self._folder.newest_log(row.pod, row.container)
            if log and (row.state == "failed" or row.restarts):
                yield row, log

    def _echo(self, text: str) -> None:
        with contextlib.suppress(OSError):
            click.echo(text, err=self._to_stderr, color=False if "NO_COLOR" in os.environ else None)
