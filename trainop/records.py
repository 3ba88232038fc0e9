"""Whether a record is what it says: in each field a value of the type that stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from reprlib import repr as shortened
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints


class Mistake(NamedTuple):
    field: str
    value: object
    wanted: str
    """As it is written in the record."""

    def __str__(self) -> str:
        return f"{self.field} is {shortened(self.value)}, not {self.wanted}"


def mistakes(record: Any, path: str = "") -> Iterator[Mistake]:
    """Of a dataclass and the dataclasses in it."""
    hints = get_type_hints(type(record))
    for field in fields(record):
        value, where = getattr(record, field.name), f"{path}{field.name}"
        if not _fits(value, hints[field.name]):
            yield Mistake(where, value, str(field.type).replace("[S]", "[JobSpec]"))
        elif isinstance(value, tuple):
            for number, each in enumerate(value):
                yield from _below(each, f"{where}[{number}].")
        else:
            yield from _below(value, f"{where}.")


def _below(value: Any, path: str) -> Iterator[Mistake]:
    if is_dataclass(value) and not isinstance(value, type):
        yield from mistakes(value, path)


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any or isinstance(kind, TypeVar):
        return True
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if kind is tuple:
        each = inner[:1] * len(value) if inner[1:] == (...,) and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if kind is type:
        return isinstance(value, type) and issubclass(value, inner[0].__bound__)
    if kind is Callable:
        return callable(value)
    return isinstance(value, kind)
