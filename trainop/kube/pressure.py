"""How many requests may be in flight: fewer when the API server is overloaded or slow, more again as it recovers."""

from __future__ import annotations

import asyncio
import time
from collections import deque

MOST, FEWEST = 64.0, 2.0
SLOW = 1.0
"""Seconds. A server that is well answers a write in a few hundredths of one."""
OVERLOADED = frozenset({429, 503, 504})


class Pressure:
    """One more in flight for each round of good answers, half as many after a bad one: as TCP does it.

    A request is made between `enter` and `leave`. Who has to wait is admitted when the turn of the namespace comes, so
    that hundreds of requests for one tenant do not stand before the first one for another.
    """

    def __init__(self, most: float = MOST) -> None:
        self._most = self.limit = most
        self._in_flight = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By namespace; the first namespace is next."""
        self._cut_from = 0.0
        """Requests sent before this say nothing new: one overload is not to be answered many times."""

    def entered(self) -> bool:
        """At once, if there is room and nobody waits; otherwise `enter`."""
        if self._waiting or self._in_flight >= int(self.limit):
            return False
        self._in_flight += 1
        return True

    async def enter(self, namespace: str) -> None:
        if self.entered():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._in_flight -= 1
                self._admit()
            raise

    def leave(self) -> None:
        self._in_flight -= 1
        if self._waiting:
            self._admit()

    def answered(self, code: int, sent: float) -> None:
        """What came of a request that was sent at that time; code 0: nothing."""
        now = time.monotonic()
        if code not in OVERLOADED and code and now - sent < SLOW:
            self.limit = min(self._most, self.limit + 1 / self.limit)
            if self._waiting:
                self._admit()
        elif sent >= self._cut_from:
            self.limit = max(FEWEST, self.limit / 2)
            self._cut_from = now

    def _admit(self) -> None:
        while self._waiting and self._in_flight < int(self.limit):
            namespace = next(iter(self._waiting))
            turns = self._waiting.pop(namespace)
            turn = turns.popleft()
            if turns:
                self._waiting[namespace] = turns  # at the end: the other namespaces come first
            if not turn.done():
                turn.set_result(None)
                self._in_flight += 1
