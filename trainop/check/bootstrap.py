"""Checks of what members are told: text only, the same whenever it is asked, and nothing is changed for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

from trainop.check.subject import Complaint, Subject, allowed, manifest, options
from trainop.engine.topology import topology
from trainop.framework import LONGEST_VARIABLE, Framework
from trainop.model import Env, Job, Topology
from trainop.parse import parse

SIZES = ((0,), (0, 1), (1, 0), (3, 0, 5))
"""Members of one role after the other."""
MANY = 100
"""Members that every framework should get along with."""


def given(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        members = topology(subject.framework, job)
        ask: Any = subject.framework.bootstrap(job, members)
        if not callable(ask):
            yield Complaint(f"bootstrap gives {ask!r}", "return a function from a member to its environment")
            return
        for member in members:
            if not isinstance(env := ask(member), Mapping):
                yield Complaint(f"{member.name} is told {env!r}", "return a dict of names and values")


def text(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        for member, env in _told(subject.framework, job, topology(subject.framework, job)).items():
            for name, value in env.items():
                if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", str(name)):
                    yield Complaint(f"{member} is told {name!r}", "use a name that a shell takes")
                if type(value) is not str:
                    yield Complaint(f"{name} of {member} is {value!r}", "make it text: str(...) or JSON")


def sized(subject: Subject) -> Iterator[Complaint]:
    """Also beside roles that have nobody."""
    framework = subject.framework
    for job in subject.jobs:
        for numbers in SIZES:
            roles = dict(zip(job.replicas, cycle(numbers), strict=False))
            other = parse(framework, manifest(framework, roles, options(framework, job)))
            try:
                if not other.problems:
                    _told(framework, other, topology(framework, other))
            except Exception as error:  # whatever the code of a stranger does
                told = ", ".join(f"{number} {role}" for role, number in roles.items())
                yield Complaint(f"{told}: {type(error).__name__}: {error}", "a role may have nobody")


def short(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        framework, each = subject.framework, MANY // len(job.replicas)
        many = allowed(framework, dict.fromkeys(job.replicas, each))
        large = parse(framework, manifest(framework, many, options(framework, job)))
        if large.problems:
            continue  # it has rules against so many
        for member, env in _told(subject.framework, large, topology(subject.framework, large)).items():
            for name, value in env.items():
                if len(f"{name}={value}") >= LONGEST_VARIABLE:
                    message = f"{name} of {member} has {len(value)} characters with {MANY} members"
                    yield Complaint(message, f"no process starts with more than {LONGEST_VARIABLE} bytes")


def deterministic(subject: Subject) -> Iterator[Complaint]:
    """Twice, and in another order: who was asked before must not matter."""
    for job in subject.jobs:
        members = topology(subject.framework, job)
        told = _told(subject.framework, job, members)
        ask = subject.framework.bootstrap(job, members)
        again = {member.name: dict(ask(member)) for member in reversed(list(members))}
        if told != again:
            names = ", ".join(sorted(name for name, env in told.items() if env != again[name]))
            yield Complaint(
                f"{names} would be told different things", "compute it from job and topology alone"
            )


def pure(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        members = topology(subject.framework, job)
        before = repr((job, members))
        _told(subject.framework, job, members)
        if repr((job, members)) != before:
            yield Complaint("it changes the job or the topology that it is given", "copy what you change")


def _told(framework: Framework[Any], job: Job[Any], members: Topology) -> dict[str, Env]:
    ask = framework.bootstrap(job, members)
    return {member.name: dict(ask(member)) for member in members}
