"""Kubernetes quantities, such as 500m and 1.5Gi: read, added up and printed canonically, without losing anything."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import NamedTuple

_WRITTEN = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?"
)
_LONGEST = 64
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_FACTORS = {suffix: Fraction(1000) ** (power - 3) for power, suffix in enumerate(_DECIMAL)} | {
    suffix: Fraction(1024) ** power for power, suffix in enumerate(_BINARY)
}


class Quantity(NamedTuple):
    value: Fraction
    binary: bool
    """Written in powers of 1024."""

    def plus(self, other: Quantity, times: int = 1) -> Quantity:
        """Written as the first of the parts that is not zero."""
        return Quantity(self.value + other.value * times, self.binary if self.value else other.binary)

    def __str__(self) -> str:
        """The largest suffix that leaves a whole number. Kubernetes knows nothing finer than n, and rounds up."""
        number = ceil(self.value * 10**9)
        if self.binary and abs(self.value) >= 1024 and self.value.denominator == 1:
            return _shortest(self.value.numerator, 1024, _BINARY)
        return _shortest(number, 1000, _DECIMAL) if number else "0"


NOTHING = Quantity(Fraction(0), binary=False)


def parse(written: object) -> Quantity | None:
    """None when it is no quantity."""
    found = _WRITTEN.fullmatch(text) if len(text := str(written)) <= _LONGEST else None
    if found is None:
        return None
    number, suffix, exponent = found.groups()
    factor = Fraction(10) ** int(exponent) if exponent else _FACTORS[suffix or ""]
    return Quantity(Fraction(number) * factor, binary=bool(suffix) and suffix.endswith("i"))


def canonical(written: object) -> str:
    """As Kubernetes prints it; what is no quantity stays as it is."""
    return str(parse(written) or written)


def _shortest(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    power = 0
    while number % base == 0 and power < len(suffixes) - 1:
        number //= base
        power += 1
    return f"{number}{suffixes[power]}"
