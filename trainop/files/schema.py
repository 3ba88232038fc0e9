"""A value held against the schema of a CRD, as the API server does it: what is wrong, and what is left when
that is mended, left out or filled in, so that the rest can be judged too."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from trainop.files import guess
from trainop.files.nodes import below
from trainop.parse import UNKNOWN
from trainop.podschema import Schema

REQUIRED, AT_LEAST_ONE = "is required", "at least one is needed"
_NOTHING = object()
_TYPES: dict[str, tuple[tuple[type, ...], str, str]] = {
    "object": ((dict,), "a mapping of names to values", ""),
    "array": ((list,), "a list", "begin each entry with '- '"),
    "string": ((str,), "text", ""),
    "integer": ((int,), "a whole number", ""),
    "number": ((int, float), "a number", ""),
    "boolean": ((bool,), "true or false", ""),
}
"""Of each type of a schema: what it is in Python, what users call it, and what to do about anything else."""
_SAMPLES: dict[str, Any] = {"object": {}, "array": [], "integer": 1, "number": 1, "boolean": False}
_LONGEST_SHOWN = 40


class Finding(NamedTuple):
    path: str
    """Of the field as it should be spelled."""
    written: str
    """As it is spelled."""
    message: str
    hint: str = ""
    at_key: bool = False
    """The name is wrong, not the value."""
    lost: bool = False
    """What stood there, if anything, is not in what is left."""


class Where(NamedTuple):
    path: str
    written: str

    def below(self, step: str | int, written: str | None = None) -> Where:
        return Where(below(self.path, step), below(self.written, step if written is None else written))


class Comparison:
    """`roles`: places where the keys of a map are words of a fixed vocabulary, and what is said of others."""

    def __init__(self, value: Any, schema: Schema, roles: Mapping[str, tuple[list[str], str]]) -> None:
        self.findings: list[Finding] = []
        self._roles = roles
        self._renamed: dict[str, str] = {}
        left = self._any(value, schema, Where("", ""))
        self.left: dict[str, Any] = left if isinstance(left, dict) else {}

    def written(self, path: str) -> str:
        """The path of a field in what is left, as it is spelled in the file."""
        for right in sorted(self._renamed, key=len, reverse=True):
            if path == right or path.startswith(f"{right}."):
                return self._renamed[right] + path.removeprefix(right)
        return path

    def _any(self, value: Any, schema: Schema, where: Where) -> Any:
        if schema.get("x-kubernetes-int-or-string"):
            return self._int_or_string(value, schema, where)
        kind = schema.get("type", "")
        if kind not in _TYPES:
            return value
        types, words, hint = _TYPES[kind]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            message = f"must be {words}, not {_shown(value)}"
            return self._wrong(where, message, _rewritten(kind, value) or hint)
        match value:
            case dict():
                return self._object(value, schema, where)
            case list():
                return self._array(value, schema, where)
        return self._word(value, schema, where)

    def _object(self, value: dict[str, Any], schema: Schema, where: Where) -> Any:
        left: dict[str, Any] = {}
        there = set()
        fields, values = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in self._named(value, schema, where):
            if item is None and (name.right in fields or values):
                continue  # for the API server null is the same as not written
            there.add(name.right)
            below_it = fields.get(name.right) or values
            kept = item if below_it is None else self._any(item, below_it, where.below(*name))
            if kept is not _NOTHING:
                left[name.right] = kept
        for field in schema.get("required", ()):
            if field not in there:
                self._missing(where.below(field), fields[field])
            left.setdefault(field, sample(fields[field]))
        if len(there) < schema.get("minProperties", 0):
            self._report(where, AT_LEAST_ONE)
        return left

    def _named(self, value: dict[str, Any], schema: Schema, where: Where) -> Iterator[tuple[_Name, Any]]:
        """Each field with the name it should have; one that nobody knows, and that may mean another, as that."""
        roles = self._roles.get(where.path)
        known, message = roles or (list(schema.get("properties", {})), UNKNOWN)
        open_ended = schema.get("additionalProperties") or schema.get("x-kubernetes-preserve-unknown-fields")
        right = _recognised(value, known, any_case=roles is not None)
        taken = set(right.values())
        for written, item in value.items():
            if written in right or (open_ended and (item is None or not roles)):
                name = _Name(right.get(written, written), written)
            elif meant := guess.meant(written, [name for name in known if name not in taken]):
                taken.add(meant)
                name = _Name(meant, written)
                self._report(where.below(*name), message, f"write {meant}", at_key=True)
            else:
                hint = _remove(written, taken, [] if roles else known)
                self._report(where.below(written), message, hint, at_key=True, lost=True)
                continue
            if name.right != name.written:
                self._renamed[where.below(*name).path] = where.below(*name).written
            yield name, item

    def _array(self, value: list[Any], schema: Schema, where: Where) -> Any:
        """One that is wrong leaves an empty place: the others keep their numbers."""
        left = []
        for number, item in enumerate(value):
            kept = self._any(item, schema.get("items", {}), where.below(number))
            left.append({} if kept is _NOTHING else kept)
        if len(value) > schema.get("maxItems", len(value)):
            self._report(where, f"at most {schema['maxItems']} entries, not {len(value)}")
        if len(value) < schema.get("minItems", 0):
            self._report(where, f"at least {schema['minItems']} entries are needed")
        if keys := schema.get("x-kubernetes-list-map-keys"):
            self._twice(left, keys, where)
        return left

    def _twice(self, items: list[Any], keys: list[str], where: Where) -> None:
        seen: dict[tuple[Any, ...], int] = {}
        for number, item in enumerate(items):
            key = tuple(item.get(name) for name in keys) if isinstance(item, dict) else ()
            if not key or None in key:
                continue
            if key in seen:
                place = where.below(number).below(keys[0])
                self._report(
                    place, f"entry {seen[key]} of the list has the same {keys[0]}", "give it another"
                )
            seen.setdefault(key, number)

    def _word(self, value: Any, schema: Schema, where: Where) -> Any:
        if "enum" in schema and value not in schema["enum"]:
            known = [str(word) for word in schema["enum"]]
            meant = guess.meant(str(value), filter(None, known))
            message = f"must be {guess.listed(known)}, not {_shown(value)}"
            self._report(where, message, f"write {meant}" if meant else "", lost=not meant)
            return meant or _NOTHING
        for bound, fails, words in (
            ("minimum", lambda limit: value < limit, "must be at least {}, not {}"),
            ("maximum", lambda limit: value > limit, "must be at most {}, not {}"),
            ("minLength", lambda limit: len(value) < limit, "must have at least {} characters"),
            ("maxLength", lambda limit: len(value) > limit, "must have at most {} characters, not {}"),
            ("pattern", lambda limit: not re.search(limit, value), "must match {}, not {}"),
        ):
            if bound in schema and fails(schema[bound]):
                shown = str(len(value)) if bound == "maxLength" else _shown(value)
                message = "must not be empty" if value == "" else words.format(schema[bound], shown)
                return self._wrong(where, message)
        return value

    def _int_or_string(self, value: Any, schema: Schema, where: Where) -> Any:
        fits = isinstance(value, str) and re.search(schema.get("pattern", ""), value)
        if fits or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        if "pattern" not in schema:
            return self._wrong(where, f"must be a whole number or text, not {_shown(value)}")
        hint = f'write "{value}", in quotes' if isinstance(value, float) else ""
        return self._wrong(where, f"must be a quantity such as 2, 500m or 1.5Gi, not {_shown(value)}", hint)

    def _missing(self, where: Where, schema: Schema) -> None:
        value = guess.listed(schema["enum"]) if "enum" in schema else "..."
        self._report(where, REQUIRED, f"write {where.path.rpartition('.')[2]}: {value}", lost=True)

    def _wrong(self, where: Where, message: str, hint: str = "") -> Any:
        self._report(where, message, hint, lost=True)
        return _NOTHING

    def _report(
        self, where: Where, message: str, hint: str = "", *, at_key: bool = False, lost: bool = False
    ) -> None:
        self.findings.append(Finding(*where, message, hint, at_key, lost))


def sample(schema: Schema) -> Any:
    """Something that may stand where something must."""
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: sample(schema["properties"][name]) for name in schema.get("required", ())}
    return schema.get("minimum", deepcopy(_SAMPLES.get(schema.get("type", ""), "?")))


class _Name(NamedTuple):
    right: str
    written: str


def _recognised(value: Mapping[str, Any], known: list[str], *, any_case: bool) -> dict[str, str]:
    """The keys that are known, each with its right name. Two spellings of one name stay as they are."""
    if not any_case:
        return {name: name for name in value if name in known}
    spelled = {name.lower(): name for name in known}
    often = Counter(name.lower() for name in value)
    return {
        name: spelled[name.lower()] if often[name.lower()] == 1 else name
        for name in value
        if name.lower() in spelled
    }


def _remove(written: str, taken: set[str], known: list[str]) -> str:
    if meant := guess.meant(written, taken):
        return f"remove it: {meant} is there, too"
    fields = ", ".join(sorted(known))
    return f"remove it; there are {fields}" if 0 < len(known) <= guess.FEW else "remove it"


def _rewritten(kind: str, value: Any) -> str:
    """How the same value would be right."""
    match kind, value:
        case "integer", str() if re.fullmatch("-?[0-9]+", value):
            return f"write {value}, without quotes"
        case "boolean", str() if value.lower() in ("true", "false"):
            return f"write {value.lower()}, without quotes"
        case "string", bool() | int() | float():
            return f'write "{json.dumps(value)}", in quotes'
    return ""


def _shown(value: Any) -> str:
    """As it may stand in YAML, and not too much of it."""
    match value:
        case str():
            text = repr(value)
        case dict() if value:
            text = "a mapping"
        case list() if value:
            text = "a list"
        case _:
            text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
