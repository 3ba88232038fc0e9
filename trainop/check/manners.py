"""Checks of a kind's manner: its jobs are read as they are written, its status is recalled as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from trainop.api.status import JobStatus
from trainop.check.subject import Complaint, Subject, as_written
from trainop.engine.plan import plan
from trainop.engine.topology import topology
from trainop.model import World
from trainop.parse import parse

NOW = datetime(2024, 5, 1, tzinfo=UTC)
JUNK: tuple[Any, ...] = (None, 0, True, "text", [], {}, [None], ["text"], [{}], {"text": None}, {"text": [0]})
"""What people put where something else belongs."""


def opposite(subject: Subject) -> Iterator[Complaint]:
    """Whoever writes down what was read has written the same job."""
    for job in subject.jobs:
        again = parse(subject.framework, as_written(subject.framework, job))
        if again.problems or again.spec != job.spec:
            told = "; ".join(map(str, again.problems)) or "it is read as another one"
            yield Complaint(f"of a job that is written down as it was read: {told}", "make write undo read")


def pure(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        raw = as_written(subject.framework, job)
        before = deepcopy(raw)
        parse(subject.framework, raw)
        if raw != before:
            yield Complaint("read changes the object that it is given", "copy what you change")


def patient(subject: Subject) -> Iterator[Complaint]:
    """It must not raise, whatever stands in the place of a spec, of each of its fields, and in lists of those."""
    framework = subject.framework
    raw = as_written(framework, subject.jobs[0])
    for junk in JUNK:
        parse(framework, {**raw, "spec": junk})
        for field, value in raw["spec"].items():
            parse(framework, {**raw, "spec": {**raw["spec"], field: junk}})
            if isinstance(value, list):
                parse(framework, {**raw, "spec": {**raw["spec"], field: [*value, junk]}})
    yield from ()


def stamped(subject: Subject) -> Iterator[Complaint]:
    """What is written into a spec changes nothing but that it stands there."""
    framework, stamp = subject.framework, subject.framework.manner.stamp
    if stamp is None:
        return
    for job in subject.jobs:
        raw = as_written(framework, job)
        again = parse(framework, {**raw, "spec": {**raw["spec"], **stamp(job)}})
        if again.problems:
            yield Complaint(f"with what stamp writes: {again.problems[0]}", "write what read understands")
        elif more := stamp(again):
            yield Complaint(f"{', '.join(more)} would be written again", "stamp only what is not there")
        elif list(topology(framework, again)) != list(topology(framework, job)):
            remedy = "name them by the same value before"
            yield Complaint("members have other names once it is written", remedy)


def names(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        members = [member.name for member in topology(subject.framework, job)]
        if twice := sorted({name for name in members if members.count(name) > 1}):
            yield Complaint(
                f"{', '.join(twice)} would be more than one", "put role and index into child_name"
            )


def recalled(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        status = plan(subject.framework, job, World(now=NOW)).status
        told = subject.framework.manner.tell(job, status)
        if JobStatus.read(subject.framework.manner.recall(told)) != status:
            yield Complaint("of the status that is told not all is recalled", "make recall undo tell")
