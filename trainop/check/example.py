"""Checks of a file with jobs of the kind: no mistakes in it, and a job that ends well as processes of this machine."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainop.check.subject import Complaint, Subject
from trainop.files.checker import Checked, Checker, Report
from trainop.files.documents import read
from trainop.framework import Framework
from trainop.local import checks
from trainop.local.book import Book
from trainop.local.folder import Folder
from trainop.local.options import Options
from trainop.local.run import Run, Why
from trainop.parse import parse

LIMIT = 120.0
"""Seconds for one job: an example is small."""
NAME = "example.yaml"
"""What stands under this name in the folder of a framework is run without being named."""


def mistakes(path: str, subject: Subject) -> Iterator[Complaint]:
    report = _report(path, subject)
    for mistake in report.mistakes:
        yield Complaint(f"line {mistake.line}: {mistake.path}: {mistake.message}", mistake.hint)
    if not report.jobs:
        yield Complaint(f"there is no {subject.framework.kind} in it", "give a file with a job of its kind")


def runs(path: str, subject: Subject) -> Iterator[Complaint]:
    report = _report(path, subject)
    if report.mistakes or not report.good:
        yield Complaint("it cannot be run", "correct its mistakes first: trainop validate")
        return
    for one in report.good:
        if wrong := checks.mistakes(one.framework, parse(one.framework, one.raw, strict=True), Options()):
            yield Complaint("; ".join(wrong), "give an example that runs with what is on every machine")
        else:
            yield from _played(one)


def _report(path: str, subject: Subject) -> Report:
    kinds = (subject.framework, *subject.framework.dialects)
    return Checker({framework.gvk: framework for framework in kinds}).check(read([path]))


def _played(one: Checked) -> Iterator[Complaint]:
    # The run has its own log for whoever wants to know more.
    logging.getLogger("trainop").addHandler(logging.NullHandler())
    place = Path(tempfile.mkdtemp(prefix="trainop-check-"))
    book = Book(one.framework)
    why = asyncio.run(_play(one.framework, one.raw, book, Folder(place)))
    if why is Why.INTERRUPTED:
        raise KeyboardInterrupt
    if book.state.get("type") == "Succeeded":
        shutil.rmtree(place)
        return
    told = f"not done after {LIMIT:g} s" if why is Why.LATE else book.state.get("message", "it has no status")
    yield Complaint(told, f"read what its members said: {place / 'logs'}")


async def _play(framework: Framework[Any], raw: dict[str, Any], book: Book, place: Folder) -> Why:
    return await Run(framework, book, place, Options()).play(raw, limit=LIMIT, keep=False, screen=_Nobody())


class _Nobody:
    """Who looks at a run that only its end is of interest of."""

    def tick(self) -> None:
        pass

    def stopping(self) -> None:
        pass
