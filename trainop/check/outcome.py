"""Checks of who decides: an answer for everything that can be seen, and both ends can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import gcd
from typing import Any

from trainop.check.subject import Complaint, Subject
from trainop.framework import Framework
from trainop.model import Failed, Job, RoleTally, Succeeded, Tally, Undecided

MOST_TALLIES = 300
"""Of one job."""
_STATES = ("nothing", "active", "succeeded", "failed", "first succeeded", "first failed")


def total(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        for states in _mixtures(job):
            verdict: Any = subject.framework.outcome(job, _tally(subject.framework, job, states))
            if not isinstance(verdict, Undecided | Succeeded | Failed):
                yield Complaint(
                    f"{_shown(states)} gives {verdict!r}", "return Undecided, Succeeded or Failed"
                )
            elif isinstance(verdict, Failed) and (verdict.role not in job.replicas or verdict.count < 1):
                yield Complaint(
                    f"{_shown(states)} gives {verdict!r}", "name a role that the job has, and at least 1"
                )


def reachable(subject: Subject) -> Iterator[Complaint]:
    expected = {"succeeded": Succeeded, "failed": Failed, "active": Undecided, "nothing": Undecided}
    for job in subject.jobs:
        for state, wanted in expected.items():
            states = dict.fromkeys(job.replicas, state)
            verdict = subject.framework.outcome(job, _tally(subject.framework, job, states))
            if not isinstance(verdict, wanted):
                yield Complaint(f"{_shown(states)} gives {verdict!r}", f"it must be {wanted.__name__}")


def pure(subject: Subject) -> Iterator[Complaint]:
    for job in subject.jobs:
        before = repr(job)
        for states in _mixtures(job):
            tally = _tally(subject.framework, job, states)
            first = subject.framework.outcome(job, tally)
            if subject.framework.outcome(job, tally) != first:
                message = f"{_shown(states)} gives one answer, then another"
                yield Complaint(message, "compute it from job and tally alone")
            elif tally != _tally(subject.framework, job, states):
                yield Complaint("it changes the tally that it is given", "copy what you change")
        if repr(job) != before:
            yield Complaint("it changes the job that it is given", "copy what you change")


def _mixtures(job: Job[Any]) -> Iterator[dict[str, str]]:
    """Every state of each role beside every state of the others, or evenly chosen ones where they are many."""
    number = len(_STATES) ** len(job.replicas)
    step = number // MOST_TALLIES + 1
    while gcd(step, len(_STATES)) > 1:  # else a role would be seen in some of its states only
        step += 1
    for states in islice(product(_STATES, repeat=len(job.replicas)), 0, None, step):
        yield dict(zip(job.replicas, states, strict=True))


def _tally(framework: Framework[Any], job: Job[Any], states: Mapping[str, str]) -> Tally:
    roles = {role: _role(job.replicas[role].replicas, state) for role, state in states.items()}
    return Tally(roles, framework.deciding(job))


def _role(replicas: int, state: str) -> RoleTally:
    everyone, first = frozenset(range(replicas)), frozenset({0})
    match state:
        case "active":
            return RoleTally(replicas, active=replicas)
        case "succeeded":
            return RoleTally(replicas, succeeded=everyone)
        case "failed":
            return RoleTally(replicas, failed=everyone)
        case "first succeeded":
            return RoleTally(replicas, active=replicas - 1, succeeded=first)
        case "first failed":
            return RoleTally(replicas, active=replicas - 1, failed=first)
    return RoleTally(replicas)


def _shown(states: Mapping[str, str]) -> str:
    return ", ".join(f"{role} {state}" for role, state in states.items())
