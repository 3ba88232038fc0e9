"""What a few noisy measurements say: a median with the interval it may lie in, and how fast a cost grows."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from statistics import linear_regression, median
from typing import NamedTuple

RESAMPLES = 2_000


class Estimate(NamedTuple):
    """A median, and the limits between which it lies in 95 of 100 cases."""

    median: float
    low: float
    high: float
    size: int = 1
    """Of how many measurements."""


def estimate(values: Iterable[float], seed: int = 0) -> Estimate:
    """The interval is a bootstrap's: medians of samples drawn from the values, each as often as it comes."""
    found = list(values)
    draw = random.Random(seed)  # noqa: S311 - the same answer for the same values; no secret
    medians = sorted(median(draw.choices(found, k=len(found))) for _ in range(RESAMPLES))
    edge = int(0.025 * RESAMPLES)
    return Estimate(median(found), medians[edge], medians[-1 - edge], len(found))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Of measurements taken in pairs: what slows both down at the same time cancels out."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The k of cost = c · sizeᵏ that fits the (size, cost) points best: 1 is a straight line."""
    sizes, costs = zip(*((math.log(size), math.log(cost)) for size, cost in points), strict=True)
    return linear_regression(sizes, costs).slope
