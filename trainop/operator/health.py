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


def complaints(controller: Controller, pulse: Pulse, lease: Lease | None) -> Iterator[str]:
    if pulse.lag > LONGEST_LAG:
        yield f"the event loop is {pulse.lag:.0f} s late"
    now = asyncio.get_running_loop().time()
    for watch in controller.watches():
        silence = now - watch.last_heard
        # Who is told no has an answer, which a new process would get as well.
        if watch.synced.is_set() and not watch.refusal and silence > LONGEST_SILENCE:
            yield f"nothing was heard of {watch.where} for {silence:.0f} s"
    if lease is not None:
        silence = time.monotonic() - lease.last_heard
        if silence > lease.terms.duration + LEASE_GRACE:
            yield f"the lease {lease.where} could be neither read nor renewed for {silence:.0f} s"
