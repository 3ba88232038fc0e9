"""What a bare word of YAML means to kubectl, which reads YAML 1.1 in a way of its own."""

from __future__ import annotations

import re
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{
        form(word): word in ("y", "yes", "true", "on")
        for word in ("y", "yes", "true", "on", "n", "no", "false", "off")
        for form in (str.lower, str.upper, str.capitalize)
    },
}
_INTEGER = re.compile(
    r"[-+]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<oct>[0-7]+)|0[bB](?P<bin>[01]+)|0|[1-9][0-9]*)"
)
_BASES = {"hex": 16, "oct": 8, "bin": 2}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 300
"""Digits. Nobody means more, and Python refuses to read many more."""


def meaning(text: str) -> Scalar:
    """A date is text, and so is 12:30; a number without a fraction is whole however it is written, as in JSON."""
    if text in _WORDS:
        return _WORDS[text]
    plain = text.replace("_", "")
    if not plain or plain[0] not in "+-.0123456789" or len(plain) > _LONGEST_NUMBER:
        return text
    if found := _INTEGER.fullmatch(plain):
        base = next((base for group, base in _BASES.items() if found[group]), 10)
        digits = found[found.lastgroup] if found.lastgroup else plain.lstrip("+-")
        return int(digits, base) * (-1 if plain[0] == "-" else 1)
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return int(number) if number.is_integer() else number
    return text
