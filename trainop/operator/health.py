"""Whether the process should be restarted: it cannot keep up, hears nothing any more, or cannot keep its lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from trainop.operator.controller import Controller
from trainop.operator.lease import Lease

TICK = 1.0
LONGEST_LAG = 5.0
LONGEST_SILENCE = 300.0
"""Seconds. A stream on which nothing is said is opened anew every minute and a half, which is a sign of life."""
SLOWEST_RESTART = 30.0
"""Seconds until a watch on jobs that failed is begun anew, at the most."""
LEASE_GRACE = 20.0
"""Seconds beyond the lease's own duration."""


class Pulse:
    """How late the event loop is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._due = clock, clock()
        self._last = 0.0

    @property
    def lag(self) -> float:
        return max(self._last, self._clock() - self._due)

    async def run(self) -> None:
        while True:
            self._due = self._clock() + TICK
            await asyncio.sleep(TICK)
            self._last = max(0.0, self._clock() - self._due)


class Hearing:
    """How the watch on jobs fares, which ends with an error when the API server says what it does not expect."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._failures = clock, 0
        self._since = self._last = float("-inf")

    def failed(self, lasted: float) -> float:
        """After it had lasted so many seconds. Says how many to wait before it is begun anew."""
        now = self._clock()
        if lasted > SLOWEST_RESTART or not self._failures:
            self._failures, self._since = 0, now
        self._failures, self._last = self._failures + 1, now
        return min(SLOWEST_RESTART, 2.0 ** min(self._failures - 1, 16))

    @property
    def deaf_for(self) -> float:
        """Seconds; 0 when it has held for longer than it ever takes to begin anew."""
        now = self._clock()
        return now - self._since if now - self._last < 2 * SLOWEST_RESTART else 0.0


def complaints(controller: Controller, pulse: Pulse, hearing: Hearing, lease: Lease | None) -> Iterator[str]:
    if pulse.lag > LONGEST_LAG:
        yield f"the event loop is {pulse.lag:.0f} s late"
    now = asyncio.get_running_loop().time()
    for cache in controller.caches():
        silence = now - cache.last_heard
        if cache.synced.is_set() and silence > LONGEST_SILENCE:
            yield f"nothing was heard of {cache.where} for {silence:.0f} s"
    if hearing.deaf_for > LONGEST_SILENCE:
        yield f"watching jobs has failed again and again for {hearing.deaf_for:.0f} s"
    if lease is not None:
        silence = time.monotonic() - lease.last_heard
        if silence > lease.terms.duration + LEASE_GRACE:
            yield f"the lease {lease.where} could be neither read nor renewed for {silence:.0f} s"
