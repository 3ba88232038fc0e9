"""From what a user wrote to a Job: defaults filled in, roles canonical, every mistake with its field path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from trainop import rules
from trainop.api.base import ApiModel
from trainop.api.spec import JobSpec, ReplicaSpec, RunPolicy
from trainop.api.status import JobStatus
from trainop.framework import Framework
from trainop.model import Job, Key, Problem, Reading

UNKNOWN = "unknown field"


class Port(ApiModel):
    name: str | None = None
    container_port: int = Field(strict=True)
    protocol: str | None = None


class Variable(ApiModel):
    name: str


class Container(ApiModel):
    name: str
    image: str | None = None
    ports: list[Port] | None = None
    env: list[Variable] | None = None


class PodSpec(ApiModel):
    containers: list[Container] | None = None


class Metadata(ApiModel):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Outline(ApiModel):
    """As much of a pod template as we look into; the API server minds the rest when the pod is created."""

    metadata: Metadata | None = None
    spec: PodSpec | None = None


def parse(framework: Framework[Any], raw: Mapping[str, Any], *, strict: bool = False) -> Job[Any]:
    """Never raises: what cannot be right stands in `problems`. `strict` also minds fields nobody knows."""
    return parse_reading(framework, raw, _read(framework, raw, strict=strict), strict=strict)


def parse_reading(
    framework: Framework[Any], raw: Mapping[str, Any], reading: Reading, *, strict: bool = False
) -> Job[Any]:
    """The same of an object whose spec has been read."""
    metadata = _mapping(raw.get("metadata"))
    spec, problems = _spec(framework, reading, strict=strict)
    replicas, misnamed = _by_role(framework, spec.replica_specs if spec else {})
    name = _name(metadata)
    problems += rules.misnamed(framework, name)
    job: Job[Any] = Job(
        key=Key(framework.gvk, metadata.get("namespace") or "default", name),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        generation=metadata.get("generation", 0),
        deleting=bool(metadata.get("deletionTimestamp")),
        spec=spec or framework.spec.model_construct(),
        policy=spec.effective_policy() if spec else RunPolicy.model_construct(managed_by=_manager(raw)),
        replicas=replicas,
        status=_status(framework, raw.get("status")),
        annotations=_mapping(metadata.get("annotations")),
        created=str(metadata.get("creationTimestamp", "")),
        remarks=(*reading.remarks, *(f"{it.path} is a field that nobody reads" for it in reading.unknown)),
    )
    if spec:
        problems += [*misnamed, *(list(_misshapen(framework, spec)) or rules.problems(framework, job))]
    told = (*reading.problems, *(_placed(problem, reading.places) for problem in problems))
    # Nobody gets to look into a template that may have any shape.
    return replace(job, problems=told, replicas={}) if told else job


def parse_again(framework: Framework[Any], raw: Mapping[str, Any], before: Job[Any] | None) -> Job[Any]:
    """The same; but the spec of one generation, which never changes, is not read twice."""
    metadata = _mapping(raw.get("metadata"))
    known = before is not None and all(
        (
            before.uid == metadata.get("uid"),
            before.generation == metadata.get("generation"),
            before.annotations == _mapping(metadata.get("annotations")),
        )
    )
    if before is None or not known:
        return parse(framework, raw)
    if before.resource_version == metadata.get("resourceVersion"):
        return before
    return replace(
        before,
        resource_version=metadata.get("resourceVersion", ""),
        deleting=bool(metadata.get("deletionTimestamp")),
        status=_status(framework, raw.get("status")),
    )


def _read(framework: Framework[Any], raw: Mapping[str, Any], *, strict: bool) -> Reading:
    """What was written, in the shape of the kind's spec."""
    if framework.manner.read is None:
        return Reading(raw.get("spec") or {})
    reading = framework.manner.read(raw)
    if not strict or not reading.unknown:
        return reading
    unknown = tuple(Problem(it.path, UNKNOWN) for it in reading.unknown)
    return replace(reading, problems=(*reading.problems, *unknown), unknown=())


def _placed(problem: Problem, places: Mapping[str, str]) -> Problem:
    return problem._replace(path=place(places, problem.path))


def place(places: Mapping[str, str], path: str) -> str:
    """Where the user wrote it."""
    for shape, written in places.items():
        if within(path, shape):
            return written + path.removeprefix(shape)
    return path


def within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _spec(
    framework: Framework[Any], reading: Reading, *, strict: bool
) -> tuple[JobSpec | None, list[Problem]]:
    """None, too, where reading it has brought problems already."""
    if reading.problems:
        return None, []
    try:
        extra: Literal["forbid", "ignore"] = "forbid" if strict else "ignore"
        spec = framework.spec.model_validate(_without_nulls(reading.spec), extra=extra, by_name=False)
    except ValidationError as error:
        return None, list(_problems(error))
    return spec, []


def _misshapen(framework: Framework[Any], spec: JobSpec) -> Iterator[Problem]:
    for spelling, replica in spec.replica_specs.items():
        try:
            Outline.model_validate(replica.template, by_name=False)
        except ValidationError as error:
            yield from _problems(error, framework.replicas_field, spelling, "template")


def _by_role(
    framework: Framework[Any], written: Mapping[str, ReplicaSpec]
) -> tuple[dict[str, ReplicaSpec], list[Problem]]:
    known = {role.name.lower(): role.name for role in framework.roles}
    where = f"spec.{framework.replicas_field}"
    found: dict[str, ReplicaSpec] = {}
    problems = []
    for spelling, replica in written.items():
        role = known.get(spelling.lower())
        if role is None:
            problems.append(Problem(f"{where}.{spelling}", rules.roles_message(framework)))
        elif role in found:
            problems.append(Problem(f"{where}.{spelling}", rules.twice_message()))
        else:
            found[role] = replica
    return {role.name: found[role.name] for role in framework.roles if role.name in found}, problems


def _name(metadata: Mapping[str, Any]) -> str:
    """In a file it may be left to the API server, which adds five characters to what `generateName` says."""
    beginning = str(metadata.get("generateName") or "")
    return str(metadata.get("name") or (f"{beginning[: rules.MAX_NAME - 5]}xxxxx" if beginning else ""))


def _manager(raw: Mapping[str, Any]) -> Any:
    """Who manages a job whose spec cannot be read as a whole: a stranger's job is none of our business."""
    manager = _mapping(_mapping(raw.get("spec")).get("runPolicy")).get("managedBy")
    return manager if isinstance(manager, str) else None


def _status(framework: Framework[Any], raw: Any) -> JobStatus:
    try:
        return JobStatus.read(framework.manner.recall(raw) if isinstance(raw, dict) else {})
    except msgspec.ValidationError:
        # The CRD's schema keeps such a status out; whoever got one in gets a fresh one.
        return JobStatus()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _without_nulls(value: Any) -> Any:
    """As the API server does: a field set to null is a field not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _problems(error: ValidationError, *where: str) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        loc = (*where, *item["loc"])
        yield Problem(_path(loc), _sentence(item, _shown(item["input"], private="template" in loc)))


def _path(loc: tuple[int | str, ...]) -> str:
    """`spec.tfReplicaSpecs.Worker.replicas`, without the branch names pydantic adds for a choice of types."""
    parts = [part for part in loc if not (isinstance(part, str) and part in ("int", "str"))]
    return "spec" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _shown(given: Any, *, private: bool) -> str:
    """What stands there: it is told in logs and events, so of what may hold a password only the type."""
    match given:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str() if private:
            return "text"
        case int() | float() if private and not isinstance(given, bool):
            return "a number"
        case _:
            return repr(given)


def _sentence(item: ErrorDetails, given: str) -> str:
    """pydantic's finding in the words of someone who edits YAML."""
    context = item.get("ctx", {})
    match item["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return UNKNOWN
        case "enum" | "literal_error":
            return f"must be {_unquoted(context['expected'])}, not {given}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}, not {given}"
        case "less_than_equal":
            return f"must be at most {context['le']}, not {given}"
        case "int_type" | "int_parsing" | "int_from_float":
            return f"must be a whole number, not {given}"
        case "bool_type" | "bool_parsing":
            return f"must be true or false, not {given}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return f"must be a mapping of names to values, not {given}"
        case "list_type" | "tuple_type":
            return f"must be a list, not {given}"
        case "string_type":
            return f"must be text, not {given}; put it in quotes"
        case "too_short":
            return "at least one is needed"
        case "string_too_short":
            return "must not be empty"
        case _:
            return item["msg"]


def _unquoted(words: Any) -> str:
    """`'' or AllWorkers`: only an empty word needs its quotes."""
    return re.sub(r"'(\w[^']*)'", r"\1", str(words))
