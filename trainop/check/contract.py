"""Every check of the contract, in order, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from trainop.check import (
    bootstrap,
    cluster,
    elsewhere,
    example,
    facts,
    life,
    manners,
    outcome,
    schema,
    turmoil,
)
from trainop.check.subject import Check, Complaint, Subject
from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.credentials import Credentials
from trainop.registry import told_of

MOST_TOLD = 3
"""Complaints of one check: the others are most likely the same."""

FORM: dict[str, Check] = {"every field is of its type": facts.types}
FACTS: dict[str, Check] = {
    "names are what Kubernetes takes": facts.names,
    "roles have names of their own": facts.roles,
    "there is a role that decides": facts.deciders,
    "its sentences can be filled in": facts.wording,
    "its kind is nobody else's": facts.unclaimed,
}
"""Of the record itself."""
MADE: dict[str, Check] = {"the CRD can be made": schema.builds}
SCHEMA: dict[str, Check] = {
    "the CRD is structural": schema.structural,
    "the CRD is small enough": schema.small,
    "every field has a description": schema.described,
}
BEHAVIOUR: dict[str, Check] = {
    "reading changes nothing": manners.pure,
    "jobs are read as they are written": manners.opposite,
    "whatever is written is read or refused": manners.patient,
    "what is written into a spec changes nothing else": manners.stamped,
    "members have names of their own": manners.names,
    "rules can be asked": facts.rules,
    "companions have pods and services": facts.companions,
    "bootstrap changes nothing": bootstrap.pure,
    "defaults may be written, too": schema.defaults,
    "members are told text": bootstrap.text,
    "any number of members is told": bootstrap.sized,
    "what members are told is short enough": bootstrap.short,
    "members are told the same every time": bootstrap.deterministic,
    "the outcome depends on nothing else": outcome.pure,
    "every outcome is a verdict": outcome.total,
    "success and failure can be reached": outcome.reachable,
    "the status is recalled as it is told": manners.recalled,
    "a job whose members end well succeeds": life.good_end,
    "a job whose members fail has failed": life.bad_end,
    "a job whose members are tried again succeeds": life.second_try,
    "a job whose members end each in its way ends": turmoil.ends,
}
"""Of what it does, on jobs of its kind. Who changes what it is given is found out first: it does so only once."""


class Result(NamedTuple):
    check: str
    ok: bool
    message: str = ""
    remedy: str = ""


class More(NamedTuple):
    """What there is to check with, beside the framework."""

    examples: tuple[str, ...] = ()
    """Files with jobs of its kind."""
    runs: tuple[str, ...] = ()
    """Those that must also run here."""
    cluster: Credentials | None = None
    """An API server to be asked about the CRD."""
    target: str = ""
    """How another process finds the framework."""


def run(
    load: Callable[[], object], more: Callable[[], More] = More, home: Path | None = None
) -> Iterator[Result]:
    """`load` gives the framework, or raises as its module does; `more` is asked when it is there. What raises is told
    with the line of the file or folder `home`."""
    try:
        framework = load()
    except Usage:
        raise
    except (Exception, SystemExit) as error:  # whatever the code of a stranger does
        yield Result("it can be imported", False, told_of(error, home), "mend this first")
        return
    yield Result("it can be imported", True)
    if not isinstance(framework, Framework):
        message = f"it is of type {type(framework).__name__}"
        yield Result("it is a framework", False, message, "make it a trainop.framework.Framework")
        return
    yield Result("it is a framework", True)
    try:
        yield from _checked(framework, more())
    except Raised as error:
        remedy = "it must not raise, whatever it is given; all other checks come after that"
        yield Result(error.check, False, told_of(error.what, home), remedy)


class Raised(Exception):
    """By the code of a framework, where that is not what is looked for."""

    def __init__(self, check: str, what: Exception) -> None:
        self.check, self.what = check, what


def _checked(framework: Framework[Any], more: More) -> Iterator[Result]:
    """A framework whose facts or CRD are wrong is not tried further, and neither is one that raises."""
    subject = Subject(framework)
    for checks in STAGES:
        passed = True
        for name, check in checks.items():
            result = _result(name, check, subject)
            passed = passed and result.ok
            yield result
        if not passed:
            return
    for dialect in framework.dialects:
        yield _kept(dialect)
    for name, check in _beside(more).items():
        yield _result(name, check, subject)


def _beside(more: More) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    if more.target:
        checks["another process says the same"] = partial(elsewhere.same, more.target)
    if more.cluster:
        checks["an API server takes the CRD"] = partial(cluster.taken, more.cluster)
    checks |= {f"{path} has no mistakes": partial(example.mistakes, path) for path in more.examples}
    return checks | {f"{path} runs here": partial(example.runs, path) for path in more.runs}


def _kept(dialect: Framework[Any]) -> Result:
    """All of it, in one line: what is wrong with a dialect is wrong first with the first check that fails."""
    name = f"its dialect {dialect.word} keeps the contract, too"
    try:
        failed = next((result for result in _checked(dialect, More()) if not result.ok), None)
    except Raised as error:
        raise Raised(f"{name}: {error.check}", error.what) from error
    return (
        Result(name, False, f"{failed.check}: {failed.message}", failed.remedy)
        if failed
        else Result(name, True)
    )


def _possible(subject: Subject) -> Iterator[Complaint]:
    manner = subject.framework.manner
    if manner.read and not manner.write:
        yield Complaint(
            "it reads jobs in a manner of its own and does not say how to write them", "give it a write"
        )
    elif not subject.jobs:
        yield Complaint("every choice of roles breaks a rule", "look at `rules`, and at who `decides`")


def _result(name: str, check: Check, subject: Subject) -> Result:
    try:
        found = list(dict.fromkeys(islice(check(subject), 100)))
    except Usage:
        raise
    except Exception as error:  # whatever the code of a stranger does
        raise Raised(name, error) from error
    if not found:
        return Result(name, True)
    message = "; ".join(complaint.message for complaint in found[:MOST_TOLD])
    if len(found) > MOST_TOLD:
        message += "; and so on"
    return Result(name, False, message, found[0].remedy)


JOBS: dict[str, Check] = {
    "a job of its kind can be written": _possible,
    "every member has an environment": bootstrap.given,
}
STAGES = (FORM, FACTS, MADE, SCHEMA, JOBS, BEHAVIOUR)
"""All of a stage are tried, and the next one only if nothing was found."""
