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
        console, terminal = Console(file=stream, highlight=False), stream.isatty()
        self._width = console.width if terminal else 10_000
        live = terminal and not tail and not {"NO_COLOR", "CI"} & os.environ.keys()
        self._table = LiveTable(console, self.book, tails) if live else None

    def begin(self, kind: str, names: list[str], remarks: list[str]) -> None:
        for remark in remarks:
            self._echo(textwrap.fill(f"note: {remark}", self._width, **FOLDED))
        self._echo(f"{kind}: logs and state are kept in\n  {self._folder.path}\n")
        self._lines.size(names)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """The run, while it lasts."""
        if self._table:
            self._table.begin()
        try:
            yield
        finally:
            if self._table:
                with contextlib.suppress(OSError):
                    self._table.end()

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

    def end(self, why: Why, limit: float) -> None:
        match why:
            case Why.INTERRUPTED:
                self._echo("\ninterrupted: all members have been stopped")
            case Why.LATE:
                self._echo(
                    f"\nthe job was not done after {limit:g} s (--timeout): all members have been stopped"
                )
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
        for name, code, log in list(self._failures())[:MOST_LOGS]:
            self._echo(
                f"\n{click.style(name, bold=True)} ended with {members.meaning(code)}; the end of its log:"
            )
            for line in ending(log, MOST_LINES):
                self._echo(f"  {line}")
            self._echo(f"all of it: {log}")

    def _failures(self) -> Iterator[tuple[str, int, Path]]:
        """The last time that each member failed by itself: what was stopped at the end may have done so before.
        What stands beside the members fails no job."""
        for row in members.rows(self.book):
            code, ago = members.failure(self.book.framework, self.book.pods[row.pod])
            log = self._folder.newest_log(row.pod, row.container, ago)
            if code and log and row.index:
                yield row.label, code, log

    def _echo(self, text: str) -> None:
        with contextlib.suppress(OSError):
            click.echo(text, err=self._to_stderr, color=False if "NO_COLOR" in os.environ else None)
