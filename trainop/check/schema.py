"""Checks of the CRD: that there is one, that an API server takes it, and that it explains itself."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import ValidationError

from trainop.check.subject import Complaint, Subject
from trainop.crd import crd
from trainop.errors import BrokenFramework
from trainop.podschema import Schema

LIMIT = 256 * 1024
"""Bytes that an annotation may have, and `kubectl apply` puts the whole CRD into one."""
_FOREIGN = ("$ref", "$defs", "allOf", "const", "exclusiveMaximum", "exclusiveMinimum", "oneOf", "uniqueItems")
"""What pydantic says and a CRD has no place for."""


PLAIN = "use bool, int, str, enums, lists, dicts and models; ge and le instead of gt and lt"


def builds(subject: Subject) -> Iterator[Complaint]:
    try:
        if crd(subject.framework) != subject.crd:
            yield Complaint("it is not the same twice", "take randomness and sets out of the spec model")
    except BrokenFramework as error:
        yield Complaint(str(error), PLAIN)


def structural(subject: Subject) -> Iterator[Complaint]:
    for path, field in fields(subject.schema):
        typed = "type" in field or "x-kubernetes-int-or-string" in field
        if not typed or any(word in field for word in _FOREIGN):
            yield Complaint(f"{path} is more than a CRD can say", PLAIN)


def small(subject: Subject) -> Iterator[Complaint]:
    size = len(json.dumps(subject.crd, separators=(",", ":")))
    if size > LIMIT:
        yield Complaint(
            f"it has {size} bytes and may have {LIMIT}", "use one pod template only; shorten descriptions"
        )


def described(subject: Subject) -> Iterator[Complaint]:
    for path, field in fields(subject.model["properties"]["spec"], "spec"):
        if not field.get("description"):
            yield Complaint(
                f"{path} has no description", "give it Field(description=...): `kubectl explain` shows it"
            )


def defaults(subject: Subject) -> Iterator[Complaint]:
    """Whoever writes down what holds anyway has written the same job."""
    for job in subject.jobs:
        whole = job.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        try:
            again = subject.framework.spec.model_validate(whole)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            yield Complaint(f"the default of {where}: {first['msg']}", "choose one that may be written, too")
            continue
        if again != job.spec:
            yield Complaint("with its defaults written down a job is another one", "look at its validators")


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field with its path."""
    for name, below in schema.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        yield where, below
        yield from fields(below, where)
    for values in ("items", "additionalProperties"):
        if isinstance(schema.get(values), dict):
            yield from fields(schema[values], f"{path}[]")
