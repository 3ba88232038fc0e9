"""What checks look at: a framework and many jobs of its kind, made from what its schema and its roles say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from trainop.api.spec import JobSpec
from trainop.crd import crd
from trainop.files.schema import sample
from trainop.framework import Framework
from trainop.model import Job
from trainop.parse import parse
from trainop.podschema import Schema

NAMESPACE = "team"
MOST_ROLES = 6
"""With more, not every choice of them is tried."""


class Complaint(NamedTuple):
    message: str
    remedy: str


class Subject:
    """A framework; what is made of it is made when a check first asks for it."""

    def __init__(self, framework: Framework[Any]) -> None:
        self.framework = framework

    @cached_property
    def crd(self) -> dict[str, Any]:
        return crd(self.framework)

    @property
    def schema(self) -> Schema:
        found: Schema = self.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return found

    @cached_property
    def model(self) -> Schema:
        """The same of the model, also of a kind that is written in its own manner and takes anything."""
        plain = replace(self.framework, manner=replace(self.framework.manner, read=None))
        found: Schema = crd(plain)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return found

    @cached_property
    def jobs(self) -> tuple[Job[Any], ...]:
        """Good ones: each choice of roles, in three sizes, with every value of the kind's own options."""
        made = (
            parse(self.framework, manifest(self.framework, cast, options))
            for options in _options(self.framework, self.model["properties"]["spec"])
            for cast in _casts(self.framework)
        )
        return tuple(job for job in made if not job.problems)


def manifest(
    framework: Framework[Any], cast: Mapping[str, int], options: Mapping[str, Any], **replica: Any
) -> dict[str, Any]:
    """A job of that kind; `cast` is how many of each role, `replica` what else is said of every role."""
    containers = [{"name": framework.container, "image": "train:1"}, {"name": "beside", "image": "beside:1"}]
    roles = {
        role: {"replicas": number, "template": {"spec": {"containers": containers}}, **replica}
        for role, number in cast.items()
    }
    spec = {**options, framework.replicas_field: roles}
    return {
        "apiVersion": framework.gvk.api_version,
        "kind": framework.kind,
        "metadata": {
            "name": "sample",
            "namespace": NAMESPACE,
            "uid": "1",
            "resourceVersion": "1",
            "generation": 1,
        },
        "spec": framework.manner.write(spec) if framework.manner.write else spec,
    }


def as_written(framework: Framework[Any], job: Job[Any]) -> dict[str, Any]:
    """The object that such a job could have been read from."""
    cast = {role: replica.replicas for role, replica in job.replicas.items()}
    return manifest(framework, cast, options(framework, job))


def options(framework: Framework[Any], job: Job[Any]) -> dict[str, Any]:
    """What the spec of a job says beside its roles."""
    written: dict[str, Any] = job.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {name: value for name, value in written.items() if name != framework.replicas_field}


def _casts(framework: Framework[Any]) -> Iterator[dict[str, int]]:
    names = [role.name for role in framework.roles]
    sizes = range(1, len(names) + 1) if len(names) <= MOST_ROLES else (1, 2, len(names))
    for size in sizes:
        for chosen in combinations(names, size):
            yield dict.fromkeys(chosen, 1)
            yield allowed(framework, {role: 2 + number % 3 for number, role in enumerate(chosen)})
            if size > 1:
                yield allowed(framework, {role: 1 + number % 3 for number, role in enumerate(chosen)})


def allowed(framework: Framework[Any], cast: Mapping[str, int]) -> dict[str, int]:
    """Of no role more than there may be."""
    most = {role.name: role.most for role in framework.roles}
    return {role: min(number, most[role] or number) for role, number in cast.items()}


def _options(framework: Framework[Any], spec: Schema) -> Iterator[dict[str, Any]]:
    """What must be written; then, with one thing more each, all that may be written of the kind's own."""
    common = {field.alias or name for name, field in JobSpec.model_fields.items()}
    own = {
        name: field
        for name, field in spec["properties"].items()
        if name not in {*common, "runPolicy", framework.replicas_field}
    }
    needed = {name: sample(own[name]) for name in spec.get("required", ()) if name in own}
    yield needed
    for name, field in own.items():
        for value in _values(field):
            if needed.get(name) != value:
                yield {**needed, name: value}


def _values(schema: Schema) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    return [True, False] if schema.get("type") == "boolean" else [sample(schema)]


Check: TypeAlias = Callable[[Subject], Iterator[Complaint]]
"""Nothing is wrong where there is no complaint."""
