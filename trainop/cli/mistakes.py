"""How mistakes in files are shown: like a compiler's, or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from trainop.errors import Usage

if TYPE_CHECKING:  # what it takes to find mistakes takes long to import, and --help needs none of it
    from trainop.files.checker import Checked, Mistake, Report


def check(paths: Iterable[str]) -> Report:
    """Everything in these files, held against the installed frameworks."""
    from trainop.files.checker import Checker
    from trainop.files.documents import read
    from trainop.registry import frameworks

    return Checker(frameworks()).check(read(paths))


def show(mistakes: Iterable[Mistake], *, err: bool = False) -> None:
    for mistake in mistakes:
        place = escaped(f"{mistake.file}:{mistake.line}:{mistake.column}:")
        about = escaped(f" {mistake.path}:" if mistake.path else "")
        message = escaped(mistake.message)
        click.echo(f"{click.style(place, bold=True)}{about} {click.style(message, fg='red')}", err=err)
        if mistake.hint:
            click.echo(escaped(f"    {mistake.hint}"), err=err)


def good(path: str) -> list[Checked]:
    """The jobs of a file, at least one; where there is a mistake, it is told and the program ends."""
    report = check([path])
    if report.mistakes:
        show(report.mistakes, err=True)
        click.echo(summary(report), err=True)
        raise SystemExit(2)
    if not report.good:
        raise Usage(f"{path}: there is no job in it; {summary(report)}")
    return report.good


def as_json(mistakes: Iterable[Mistake]) -> str:
    return json.dumps([mistake._asdict() for mistake in mistakes], indent=2)


def summary(report: Report) -> str:
    """`3 jobs checked, 2 mistakes in 1; 1 other document skipped (ConfigMap)`."""
    text = f"{_count(report.jobs, 'job')} checked, "
    if report.mistakes:
        text += f"{_count(len(report.mistakes), 'mistake')} in {report.wrong}"
    else:
        text += "no mistakes"
    if report.skipped:
        kinds = ", ".join(Counter(kind or "no kind" for kind in sorted(report.skipped)))
        text += f"; {_count(len(report.skipped), 'other document')} skipped ({kinds})"
    return escaped(text)


def escaped(text: str) -> str:
    """What a file says is not for the terminal to obey: control characters are shown as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
