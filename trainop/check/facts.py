"""Checks of the plain facts: the names a framework gives to its kind, roles, container and port, and its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainop import registry
from trainop.check.subject import Complaint, Subject
from trainop.framework import Wording
from trainop.podschema import Schema
from trainop.records import mistakes
from trainop.rules import MAX_NAME, NAME

_NAMES = {
    "name": ("[a-z][a-z0-9]*", "one lower-case word, such as tensorflow"),
    "kind": ("[A-Z][A-Za-z0-9]*", "a word in CamelCase, such as TFJob"),
    "plural": ("[a-z][a-z0-9]*", "a lower-case word, such as tfjobs"),
    "group": (rf"{NAME}(\.{NAME})+", "a domain, such as kubeflow.org"),
    "version": ("v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?", "a version, such as v1 or v1alpha1"),
    "container": (NAME, "a DNS label, such as tensorflow"),
    "port_name": ("(?=.*[a-z])[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lower-case with a letter, such as tfjob-port"),
}
_LONGEST = {"port_name": 15}
LONGEST_ROLE = 20
"""Characters: they are a part of the names of pods and services, which have 63."""


def types(subject: Subject) -> Iterator[Complaint]:
    for mistake in mistakes(subject.framework):
        yield Complaint(str(mistake), "trainop/framework.py says what each field means")


def unclaimed(subject: Subject) -> Iterator[Complaint]:
    """The operator would not start with two frameworks that have the same."""
    mine = subject.framework
    if (other := registry.owner(mine.group, mine.kind, mine.plural)) not in (None, mine.name):
        message = f"{mine.kind} or {mine.plural} of {mine.group} is already of the framework {other}"
        yield Complaint(message, "choose another kind, plural or group")


def names(subject: Subject) -> Iterator[Complaint]:
    for field in _NAMES:
        yield from called(field, getattr(subject.framework, field))
    for older in subject.framework.older_versions:
        if not re.fullmatch(_NAMES["version"][0], older) or older == subject.framework.version:
            yield Complaint(f"{older!r} is no older version", f"make it {_NAMES['version'][1]}")
    for short in subject.framework.short_names:
        if not re.fullmatch(NAME, short):
            yield Complaint(f"the short name {short!r} cannot be typed", "make it a lower-case word")
    if not 1 <= subject.framework.port <= 65535:
        yield Complaint(f"port is {subject.framework.port}", "choose one of 1 to 65535")


def called(field: str, value: object) -> Iterator[Complaint]:
    """What is wrong with this value of that field."""
    (pattern, words), longest = _NAMES[field], _LONGEST.get(field, MAX_NAME)
    if not isinstance(value, str) or not re.fullmatch(pattern, value) or len(value) > longest:
        yield Complaint(f"{field} is {value!r}", f"make it {words}, with at most {longest} characters")


def roles(subject: Subject) -> Iterator[Complaint]:
    framework = subject.framework
    lower = [role.name.lower() for role in framework.roles]
    if not lower:
        yield Complaint("there is no role", "name at least one in `roles`")
    for name in sorted({name for name in lower if lower.count(name) > 1}):
        yield Complaint(f"two roles are called {name}", "roles differ by more than letter case")
    for role in framework.roles:
        if not re.fullmatch(NAME, role.name.lower()) or len(role.name) > LONGEST_ROLE:
            remedy = f"use letters and digits, at most {LONGEST_ROLE}: pods are called NAME-role-0"
            yield Complaint(f"the role {role.name!r} cannot be part of a DNS name", remedy)
        if role.most is not None and role.most < 1:
            yield Complaint(f"{role.name} may have {role.most} members", "leave the role out, or allow one")
    for companion in framework.companions:
        if companion.name.lower() in lower:
            yield Complaint(f"{companion.name} is a role and a companion", "rename one of them")


def deciders(subject: Subject) -> Iterator[Complaint]:
    """Without one no job could ever end."""
    framework = subject.framework
    if not any(role.decides for role in framework.roles):
        yield Complaint("no role decides the outcome", "give one of them decides=1")
    for role in framework.roles:
        if role.decides is not None and role.decides < 1:
            yield Complaint(f"{role.name} has decides={role.decides}", "ranks begin with 1")
        if role.first_if and role.first_if[0] not in framework.spec.model_fields:
            yield Complaint(
                f"{role.name} decides first by the field {role.first_if[0]}, which the spec does not have",
                "name a field of the spec model, in snake_case",
            )


def wording(subject: Subject) -> Iterator[Complaint]:
    words = {"kind": "K", "namespace": "N", "name": "n"}
    known: dict[str, dict[str, str]] = {
        "running": words,
        "succeeded": words,
        "failed": {**words, "count": "1", "role": "R"},
        "invalid": {**words, "problems": "P"},
    }
    for field, values in known.items():
        sentence = getattr(subject.framework.wording, field)
        try:
            sentence.format(**values)
        except (KeyError, IndexError, ValueError) as error:
            names = ", ".join(f"{{{name}}}" for name in values)
            yield Complaint(f"{Wording.__name__}.{field} cannot be filled in: {error!r}", f"use only {names}")


def rules(subject: Subject) -> Iterator[Complaint]:
    for rule in subject.framework.rules:
        told = f"the rule {rule.message!r}"
        if not rule.message or "self" not in rule.cel:
            yield Complaint(f"{told} is not complete", "give it a message, and CEL about `self`")
        if not _exists(subject.model["properties"]["spec"], rule.field):
            yield Complaint(
                f"{told} points at {rule.field!r}", "name a field below the spec, such as .tfReplicaSpecs"
            )
        answers = {type(rule.holds(job)) for job in subject.jobs}
        if answers - {bool}:
            yield Complaint(f"{told} does not answer with True or False", "make `holds` return a bool")


def _exists(schema: Schema, field: str) -> bool:
    found: Schema | None = schema
    for step in filter(None, field.split(".")):
        found = found.get("properties", {}).get(step) if found else None
    return found is not None


def companions(subject: Subject) -> Iterator[Complaint]:
    for companion in subject.framework.companions:
        for job in subject.jobs:
            pod = companion.pod(job)
            if pod is not None and not (pod.get("spec") or {}).get("containers"):
                yield Complaint(f"{companion.name} has no container", "give its pod a spec with containers")
                break
            if pod is not None and not companion.service(job).get("ports"):
                yield Complaint(f"the service of {companion.name} has no port", "give it ports")
                break
