"""Specs of v1 as the kinds of 2017 write them: the opposite of reading.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .reading import LIMITS, Words

Raw = Mapping[str, Any]


def write(words: Words, spec: Raw) -> dict[str, Any]:
    """What does not depend on the framework."""
    types = {role: type_ for type_, role in words.types.items()}
    entries = [
        {words.type_field: types[role]}
        | {key: replica[key] for key in ("replicas", "template") if key in replica}
        for role, replica in spec[words.roles_field].items()
    ]
    own = {"RuntimeId": spec["runtimeId"]} if spec.get("runtimeId") else {}
    return own | {name: spec[name] for name in LIMITS if name in spec} | {"replicaSpecs": entries}
