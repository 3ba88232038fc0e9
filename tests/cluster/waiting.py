"""Waiting for a condition instead of for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_PAUSE = 0.03  # seconds between two looks: short enough that no test feels it


def until(what: str, condition: Callable[[], T], limit: float = 60, *, pause: float = _PAUSE) -> T:
    """Return the first true value of `condition`; after `limit` seconds raise TimeoutError."""
    deadline = time.monotonic() + limit
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit:.0f} s in vain until {what}")
        time.sleep(pause)
    return value
