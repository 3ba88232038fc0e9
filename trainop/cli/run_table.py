"""`trainop run` on a terminal: the members in a live table, the job's state above, the newest events below."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trainop.kube.port import Raw
from trainop.local import members
from trainop.local.book import Book
from trainop.local.members import Row
from trainop.local.tails import Tails

# Only the terminal's own colours: they can be read on its background, whether that is light or dark.
JOB_STYLES = {"Succeeded": "bold green", "Failed": "bold red", "Restarting": "bold yellow"}
STYLES = {"succeeded": "green", "failed": "red", "back-off": "yellow", "stopping": "yellow", "stopped": "dim"}
QUIET = ("running", "succeeded", "stopped")
EVENTS = 4


class LiveTable:
    def __init__(self, console: Console, book: Book, tails: Tails) -> None:
        self._console, self._book, self._tails = console, book, tails
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self.note = ""
        """What a person should know now."""

    def begin(self) -> None:
        self._live.start()

    def tick(self) -> None:
        for _ in self._tails.new():
            pass  # it remembers the last line of each
        self._live.update(self._picture(datetime.now(UTC)), refresh=True)

    def end(self) -> None:
        self.tick()
        self._live.stop()

    def _picture(self, now: datetime) -> RenderableType:
        everyone = members.rows(self._book)
        room = max(3, self._console.height - EVENTS - 6)
        shown, left = _most_telling(everyone, room)
        parts: list[RenderableType] = [self._headline(), Text(), self._table(shown, now)]
        if left:
            parts.append(Text(f"… and {left} more", style="dim"))
        events = list(self._events())
        return Group(*parts, *([Text(), *events] if events else []))

    def _headline(self) -> Text:
        job, state = self._book.job, self._book.state
        status = job.get("status") or {}
        name = f"{self._book.framework.kind} {job.get('metadata', {}).get('name', '')}"
        kind = state.get("type", "Pending")
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(name, "bold").append("  ").append(kind, JOB_STYLES.get(kind, "bold"))
        line.append(f"  {status.get('progress', '')}  ")
        return line.append(self.note, "yellow") if self.note else line.append(state.get("message", ""), "dim")

    def _table(self, shown: list[Row], now: datetime) -> Table:
        table = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        table.add_column("ROLE", no_wrap=True)
        table.add_column("INDEX", justify="right", no_wrap=True)
        table.add_column("STATE", no_wrap=True, min_width=9)
        for name in ("RESTARTS", "EXIT", "AGE"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("LAST LOG LINE", no_wrap=True, overflow="ellipsis", ratio=1)
        for row in shown:
            table.add_row(
                row.role,
                row.index,
                Text(row.state, STYLES.get(row.state, "")),
                str(row.restarts) if row.restarts else "",
                _code(row),
                _age(row.since, now),
                Text(self._tails.last(row.pod, row.container)),
            )
        return table

    def _events(self) -> Iterator[Text]:
        for event in self._book.newest_events(EVENTS):
            yield _event(event)


def _most_telling(everyone: list[Row], room: int) -> tuple[list[Row], int]:
    """As many as there is room for, those first who are not just doing well; and how many are left out."""
    if len(everyone) <= room:
        return everyone, 0
    chosen = set(sorted(everyone, key=lambda row: row.state in QUIET)[:room])
    return [row for row in everyone if row in chosen], len(everyone) - room


def _event(event: Raw) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    style = "yellow" if event["type"] == "Warning" else "dim"
    return line.append(f"{event['reason']}  ", style).append(event["message"], "dim")


def _code(row: Row) -> Text:
    style = "red" if row.exit_code and row.state != "stopped" else ""
    return Text("" if row.exit_code is None else str(row.exit_code), style)


def _age(since: str, now: datetime) -> str:
    if not since:
        return ""
    seconds = max(0, int((now - datetime.fromisoformat(since)).total_seconds()))
    if seconds < 100:
        return f"{seconds}s"
    return (
        f"{seconds // 60}m{seconds % 60:02}s"
        if seconds < 3600
        else f"{seconds // 3600}h{seconds // 60 % 60:02}m"
    )
