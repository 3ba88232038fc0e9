"""Mistakes in jobs of kinds that are read in their own manner: their CRDs take whatever is written, so what was read is
held against the schema of their models, and each mistake is told where it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from trainop.crd import job_schema
from trainop.files import guess
from trainop.files.schema import AT_LEAST_ONE, REQUIRED, Comparison, Finding
from trainop.framework import Framework
from trainop.model import Job, Problem, Reading, Unknown
from trainop.parse import UNKNOWN, parse, parse_reading, place, within
from trainop.podschema import Schema

Advice = Callable[[Framework[Any], Problem], str]


def job(
    framework: Framework[Any], read: Callable[[Mapping[str, Any]], Reading], value: Any, advice: Advice
) -> tuple[Job[Any], list[Finding]]:
    """What reading it brought, what is wrong with the shape, and which rules are broken by what is left of it."""
    raw = value if isinstance(value, dict) else {}
    reading = read(raw)
    compared = Comparison({"spec": reading.spec}, _schema(framework), {})
    shape = [
        it._replace(path=place(reading.places, it.path), written=place(reading.places, it.written))
        for it in compared.findings
    ]
    shape = [it for it in shape if not _said(it, reading.problems)]
    left = replace(reading, spec=compared.left["spec"], problems=())
    said = [*(it.path for it in reading.problems), *(it.path for it in shape)]
    broken = [
        problem
        for problem in parse_reading(framework, raw, left).problems
        if not any(_one_in_the_other(problem.path, path) for path in said)
    ]
    told = [
        Finding(it.path, it.path, it.message, advice(framework, it)) for it in (*reading.problems, *broken)
    ]
    return parse(framework, raw), [*told, *map(_unknown, reading.unknown), *shape]


@cache
def _schema(framework: Framework[Any]) -> Schema:
    return job_schema(framework)


def _said(finding: Finding, problems: tuple[Problem, ...]) -> bool:
    """In the kind's own words. What is missing around a mistake, or in it, is missing because of that."""
    missing = finding.message in (REQUIRED, AT_LEAST_ONE)
    return any(
        finding.path == it.path or (missing and _one_in_the_other(finding.path, it.path)) for it in problems
    )


def _one_in_the_other(path: str, other: str) -> bool:
    return within(path, other) or within(other, path)


def _unknown(field: Unknown) -> Finding:
    meant = guess.meant(field.path.rpartition(".")[2], field.known)
    hint = f"write {meant}" if meant else f"remove it; there are {', '.join(sorted(field.known))}"
    return Finding(field.path, field.path, UNKNOWN, hint, at_key=True)
