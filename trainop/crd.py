"""A framework as a CustomResourceDefinition: its models' JSON schema in the shape the API server asks for."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from pydantic import PydanticUserError

from trainop import rules
from trainop.api.spec import POD_TEMPLATE
from trainop.api.status import JobStatus
from trainop.errors import BrokenFramework
from trainop.framework import Framework
from trainop.podschema import Schema, pod_template_schema

# Everything else has its default in memory only, as in v1: a stored spec says what its user wrote.
_STORED_DEFAULTS = frozenset({"suspend"})

# Every other integer is int32.
_INT64_FIELDS = frozenset({"activeDeadlineSeconds", "observedGeneration"})

# What a structural schema does not have, or says in its own way; see _parts.
_JSON_ONLY = frozenset(
    {"$defs", "additionalProperties", "const", "default", "items", "properties", "title", POD_TEMPLATE}
)

# The old operator may have written it, and what is stored must stay valid.
_LABEL_SELECTOR: Schema = {
    "description": "Deprecated: read `selector`.",
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}

# Declared only because a rule's fieldPath must name a declared field.
_METADATA: Schema = {"type": "object", "properties": {"name": {"type": "string"}}}

_COLUMNS = [
    {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
    {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Restarts", "type": "integer", "jsonPath": ".status.restartCount", "priority": 1},
    {"name": "Message", "type": "string", "jsonPath": ".status.conditions[-1:].message", "priority": 1},
]


def crd(framework: Framework[Any]) -> dict[str, Any]:
    """The same for the same models on every call, and the caller's own to change."""
    names: dict[str, Any] = {
        "kind": framework.kind,
        "listKind": f"{framework.kind}List",
        "plural": framework.plural,
        "singular": framework.kind.lower(),
    }
    if framework.short_names:
        names["shortNames"] = list(framework.short_names)
    versions = [
        _version(framework, framework.version, _job(framework)),
        *(_older(framework, version) for version in framework.older_versions),
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{framework.plural}.{framework.group}"},
        "spec": {"group": framework.group, "scope": "Namespaced", "names": names, "versions": versions},
    }


def _version(framework: Framework[Any], name: str, schema: Schema) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == framework.version,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, **_scale(framework)},
        "additionalPrinterColumns": [*_own_columns(framework), *deepcopy(_COLUMNS)],
    }


def _own_columns(framework: Framework[Any]) -> list[Schema]:
    columns = framework.manner.columns
    return [{"name": name, "type": "string", "jsonPath": path} for name, path in columns.items()]


def _older(framework: Framework[Any], name: str) -> dict[str, Any]:
    """Takes everything, as the schema of the fields in each version would be too much for `kubectl apply`. Who
    reads the job in the stored version, as the operator does, gets the fields of that one only."""
    kind, stored = framework.kind, framework.gvk.api_version
    warning = (
        f"{framework.group}/{name} {kind} is read as {stored}, and checked only once the operator sees it; "
        "`trainop convert` rewrites it"
    )
    version = _version(framework, name, _any_job(framework))
    return {**version, "deprecated": True, "deprecationWarning": warning}


def _job(framework: Framework[Any]) -> Schema:
    return _any_job(framework) if framework.manner.read else job_schema(framework)


def _any_job(framework: Framework[Any]) -> Schema:
    """Of a kind that is read in its own manner: whatever is written is kept, and judged by the operator."""
    open_ended = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "description": framework.spec.__doc__ or f"A {framework.kind}.",
        "type": "object",
        "properties": {
            "spec": {"description": "What is to be trained, and by whom.", **open_ended},
            "status": {"description": "What the operator has seen and done.", **open_ended},
        },
    }


def job_schema(framework: Framework[Any]) -> Schema:
    """Of a job in the shape of the kind's models."""
    try:
        spec = _model(framework.spec.model_json_schema(by_alias=True))
    except (TypeError, PydanticUserError) as error:
        told = str(error).partition("\n")[0]
        raise BrokenFramework(f"the framework {framework.name} has no CRD: {told}") from error
    status = _model(msgspec.json.schema(JobStatus))
    status["description"] = "What the operator has seen and done."
    schema: Schema = {
        "description": spec.setdefault("description", f"A {framework.kind}."),
        "type": "object",
        "properties": {"metadata": deepcopy(_METADATA), "spec": spec, "status": status},
        "required": ["spec"],
    }
    _at(schema, f"spec.{framework.replicas_field}")["maxProperties"] = len(framework.roles)
    _at(schema, "status.replicaStatuses.*")["properties"]["labelSelector"] = deepcopy(_LABEL_SELECTOR)
    for path, validations in rules.validations(framework).items():
        _at(schema, path)["x-kubernetes-validations"] = validations
    return schema


def _scale(framework: Framework[Any]) -> Schema:
    """What `kubectl scale` and autoscalers use. Only for jobs that spell the role and its replicas out."""
    if framework.manner.read or not any(role.name == "Worker" for role in framework.roles):
        return {}
    status = ".status.replicaStatuses.Worker"
    scale = {
        "specReplicasPath": f".spec.{framework.replicas_field}.Worker.replicas",
        "statusReplicasPath": f"{status}.active",
        "labelSelectorPath": f"{status}.selector",
    }
    return {"scale": scale}


def _at(schema: Schema, path: str) -> Schema:
    """The schema at `spec.field.*.field`, where `*` is each value of a map or list."""
    for step in filter(None, path.split(".")):
        if step == "*":
            schema = schema.get("items") or schema["additionalProperties"]
        else:
            schema = schema["properties"][step]
    return schema


def _model(source: Schema) -> Schema:
    return _structural("", source, source.get("$defs", {}))


def _structural(field: str, source: Schema, models: dict[str, Schema]) -> Schema:
    """What a model says about a field, with all below it in place: no references, no null, no titles."""
    match source:
        case {"anyOf": [optional, {"type": "null"}], **about}:
            return _structural(field, {**optional, **about}, models)
        case {"$ref": str(reference), **about}:
            return _structural(field, {**models[reference.rpartition("/")[2]], **about}, models)
        case {"anyOf": [{"type": "integer"}, {"type": "string"} as text], **about}:
            either: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
            pattern = {"pattern": text["pattern"]} if "pattern" in text else {}
            return {**_shared(about), **pattern, **either, "x-kubernetes-int-or-string": True}
        case {"type": str(kind)}:
            return {**_shared(source), **_parts(field, kind, source, models)}
        case {"enum": [str(), *_]}:
            return {**_shared(source), "type": "string"}
        case _ if POD_TEMPLATE in source:
            return {**pod_template_schema(), **_shared(source)}
    raise TypeError(f"a CRD has no way to say what the field {field!r} may be")


def _parts(field: str, kind: str, source: Schema, models: dict[str, Schema]) -> Schema:
    parts: Schema = {}
    if kind == "integer":
        parts["format"] = "int64" if field in _INT64_FIELDS else "int32"
    if field in _STORED_DEFAULTS:
        parts["default"] = source["default"]
    if "const" in source:
        parts["enum"] = [source["const"]]
    if "properties" in source:
        parts["properties"] = {
            name: _structural(name, value, models) for name, value in source["properties"].items()
        }
    for below in ("items", "additionalProperties"):
        if isinstance(source.get(below), dict):
            parts[below] = _structural(field, source[below], models)
    if source.get("additionalProperties") is True:
        parts["x-kubernetes-preserve-unknown-fields"] = True
    return parts


def _shared(source: Mapping[Any, Any]) -> Schema:
    said = {word: value for word, value in source.items() if word not in _JSON_ONLY}
    return {word: deepcopy(value) for word, value in said.items() if (word, value) != ("required", [])}
