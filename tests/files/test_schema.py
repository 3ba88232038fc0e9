"""A value against a schema: what is wrong, and what is left of it to judge the rest by."""

from __future__ import annotations

from typing import Any

import pytest

from trainop.files.schema import Comparison
from trainop.podschema import Schema

TEXT: Schema = {"type": "string"}
NAMED: Schema = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    "x-kubernetes-list-map-keys": ["name"],
    "maxItems": 2,
    "minItems": 1,
}


def compare(value: Any, schema: Schema) -> tuple[list[str], Any]:
    """What is found, and what is left, of the field `it`."""
    compared = Comparison({"it": value}, {"type": "object", "properties": {"it": schema}}, {})
    return [f"{f.written}: {f.message}" for f in compared.findings], compared.left.get("it")


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1, {"type": "number"}),
        (1.5, {"type": "number"}),
        (2, {"type": "integer", "minimum": 2, "maximum": 2}),
        ("ab", {"type": "string", "minLength": 2, "maxLength": 2, "pattern": "^a"}),
        ({"a": {"b": [1]}}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ({"a": "b"}, {"type": "object", "additionalProperties": TEXT}),
        ([{"name": "a"}, {"name": "b"}], NAMED),
        (5, {"x-kubernetes-int-or-string": True}),
        ("http", {"x-kubernetes-int-or-string": True}),
    ],
)
def test_what_fits_is_left_as_it_is(value: Any, schema: Schema) -> None:
    assert compare(value, schema) == ([], value)


@pytest.mark.parametrize(
    ("value", "schema", "found", "left"),
    [
        (True, {"type": "number"}, "it: must be a number, not true", None),
        (True, {"type": "integer"}, "it: must be a whole number, not true", None),
        (1, {"type": "boolean"}, "it: must be true or false, not 1", None),
        (3, {"type": "integer", "maximum": 2}, "it: must be at most 2, not 3", None),
        ("", {"type": "string", "minLength": 1}, "it: must not be empty", None),
        ("abc", {"type": "string", "maxLength": 2}, "it: must have at most 2 characters, not 3", None),
        ("b", {"type": "string", "pattern": "^a"}, "it: must match ^a, not 'b'", None),
        ("x" * 99, {"type": "integer"}, f"it: must be a whole number, not '{'x' * 39}…", None),
        (1.5, {"x-kubernetes-int-or-string": True}, "it: must be a whole number or text, not 1.5", None),
        ("a", {"type": "string", "enum": ["Ab", "Cd"]}, "it: must be Ab or Cd, not 'a'", "Ab"),
        ({"a": 1}, {"type": "object", "properties": {}}, "it.a: unknown field", {}),
        ([], NAMED, "it: at least 1 entries are needed", []),
        ([{"name": "a"}, {"name": "a"}], NAMED, "it[1].name: entry 0 of the list has the same name", ...),
        (
            [{"name": "a"}, "b"],
            NAMED,
            "it[1]: must be a mapping of names to values, not 'b'",
            [{"name": "a"}, {}],
        ),
        ([{"name": c} for c in "abc"], NAMED, "it: at most 2 entries, not 3", ...),
        ([{}], NAMED, "it[0].name: is required", [{"name": "?"}]),
        ({}, {"type": "object", "minProperties": 1}, "it: at least one is needed", {}),
    ],
)
def test_what_does_not_is_told_and_left_out_mended_or_filled_in(
    value: Any, schema: Schema, found: str, left: Any
) -> None:
    """`...`: it is left as it is."""
    assert compare(value, schema) == ([found], value if left is ... else left)
