"""`$(NAME)` in commands, arguments and values, as Kubernetes replaces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, known: Mapping[str, str]) -> str:
    """`$$` is a dollar sign; a name that nobody knows stays as it is written."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return known.get(found[1], found[0])

    return _REFERENCE.sub(replaced, text)


def expand_in_order(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each value may name those before it."""
    known: dict[str, str] = {}
    for name, value in entries:
        known[name] = expand(value, known)
    return known
