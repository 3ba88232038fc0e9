"""Derives the structural schema of a pod template, as CRDs want it, from the Kubernetes client's models."""

from copy import deepcopy
from typing import Any

from trainop.api.spec import QUANTITY

Schema = dict[str, Any]

# What embedded metadata may say. creationTimestamp means nothing here, but generated YAML is full of
# `creationTimestamp: null`, and kubectl refuses a field that is not declared.
_METADATA_FIELDS = frozenset(
    {"annotations", "creationTimestamp", "finalizers", "labels", "name", "namespace"}
)

# Pods cannot be created with ephemeral containers, so a template cannot have them either.
_LEFT_OUT = frozenset({"V1PodSpec.ephemeralContainers"})

# The models call these plain strings; the API also takes numbers.
_QUANTITIES = frozenset(
    {
        "V1EmptyDirVolumeSource.sizeLimit",
        "V1PodSpec.overhead",
        "V1ResourceFieldSelector.divisor",
        "V1ResourceRequirements.limits",
        "V1ResourceRequirements.requests",
        "V1VolumeResourceRequirements.limits",
        "V1VolumeResourceRequirements.requests",
    }
)

# The models do not tell int64 from int32. Every field with one of these names is int64, every other is int32.
_INT64_FIELDS = frozenset(
    {
        "activeDeadlineSeconds",
        "defaultUser",
        "expirationSeconds",
        "fsGroup",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "supplementalGroups",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "user",
    }
)

_KEYED_BY_NAME: Schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}

# Lists are keyed only where a Pod refuses duplicates anyway. It accepts a variable or a port twice, so `env`
# and `ports` stay atomic; keyed ports would also need a default protocol, written into every stored object.
# Bounds let the API server estimate the cost of CEL rules over containers: the lengths are those of the Pod
# API, the numbers of items are beyond any real pod.
_EXTRAS: dict[str, Schema] = {
    "V1Container.name": {"maxLength": 63},
    "V1Container.ports": {"maxItems": 512},
    "V1ContainerPort.name": {"maxLength": 15},
    "V1ObjectMeta.creationTimestamp": {"nullable": True},
    "V1PodSpec.containers": {**_KEYED_BY_NAME, "maxItems": 64},
    "V1PodSpec.initContainers": {**_KEYED_BY_NAME, "maxItems": 64},
    "V1PodSpec.volumes": _KEYED_BY_NAME,
}


def pod_template_schema() -> Schema:
    """Returns the schema of PodTemplateSpec: the same on every call, and the caller's own to change."""
    # Imported here because it takes about a second, which only the generation of CRDs should pay.
    from kubernetes.client import V1PodTemplateSpec

    source = V1PodTemplateSpec.model_json_schema(mode="serialization")
    schema = _object("V1PodTemplateSpec", source, "pod", source["$defs"])
    return {"description": "What `kubectl explain pod` tells about metadata and spec.", **schema}


def metadata_schema() -> Schema:
    """Returns the schema of the metadata of any object, such as a job's own."""
    from kubernetes.client import V1ObjectMeta

    source = V1ObjectMeta.model_json_schema(mode="serialization")
    # Of managed fields, which no user writes, anything is taken.
    source["properties"].pop("managedFields")
    schema = _object("metadata", source, "metadata", source["$defs"])
    schema["properties"]["managedFields"] = {"type": "array"}
    return schema


def _object(model: str, source: Schema, path: str, models: dict[str, Schema]) -> Schema:
    """Converts one model, with everything below it in place: structural schemas have no references."""
    properties: Schema = {}
    for field, field_source in sorted(source["properties"].items()):
        name = f"{model}.{field}"
        if name in _LEFT_OUT or (model == "V1ObjectMeta" and field not in _METADATA_FIELDS):
            continue
        field_path = f"{path}.{field}"
        properties[field] = {
            "description": f"Same as {field_path}",
            **_value(name, field_source, field_path, models),
            **deepcopy(_EXTRAS.get(name, {})),
        }
    schema: Schema = {"type": "object", "properties": properties}
    if required := source.get("required"):
        schema["required"] = sorted(required)
    return schema


def _value(name: str, source: Schema, path: str, models: dict[str, Schema]) -> Schema:
    """Converts the type of the field `name` ("Model.field"), of its list items or of its map values."""
    match source:
        case {"anyOf": [optional, {"type": "null"}]}:
            return _value(name, optional, path, models)
        case {"$ref": str(reference)}:
            model = reference.rpartition("/")[2]
            return _object(model, models[model], path, models)
        case {"type": "array", "items": dict(items)}:
            return {"type": "array", "items": _value(name, items, path, models)}
        case {"type": "object", "additionalProperties": dict(values)}:
            return {"type": "object", "additionalProperties": _value(name, values, path, models)}
        case {"anyOf": [{"type": "integer"}, {"type": "string"}]}:
            return _int_or_string()
        case {"type": "string"} if name in _QUANTITIES:
            return {**_int_or_string(), "pattern": QUANTITY}
        case {"type": "string", "format": "date-time"}:
            return {"type": "string", "format": "date-time"}
        case {"type": "integer"}:
            is_int64 = name.partition(".")[2] in _INT64_FIELDS
            return {"type": "integer", "format": "int64" if is_int64 else "int32"}
        case {"type": "string" | "boolean" as plain}:
            return {"type": plain}
    raise TypeError(f"no structural schema for {name}: {source}")


def _int_or_string() -> Schema:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
