"""A queue of keys: each at most once, one pass per key at a time, namespaces in turn, failures slower and slower."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque

from trainop.model import Key

FIRST_RETRY = 0.1
SLOWEST_RETRY = 60.0
GATHER = 0.01
"""Seconds for which news of a job's members waits for more of it: it comes in swarms."""


class WorkQueue:
    def __init__(self, share: int | None = None) -> None:
        """`share`: how many keys of one namespace may be worked on at once, so that others need not wait until a
        thousand members of one tenant exist."""
        self._share = share
        self._ready: dict[str, deque[Key]] = {}
        """Keys to hand out, by namespace; the first namespace is next."""
        self._queued: dict[Key, float] = {}
        """Since when."""
        self._running: set[Key] = set()
        self._at_work: Counter[str] = Counter()
        """How many are running, by namespace."""
        self._dirty: set[Key] = set()
        """Woken while running: to be handed out once more."""
        self._gathering: set[Key] = set()
        """To be queued soon."""
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._held: set[Key] = set()
        """Not to be handed out before their timer rings, whoever wakes them."""
        self._failures: dict[Key, int] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        """Those who have found nothing to do. A key wakes one of them, not all."""
        self._none_running = asyncio.Event()
        self._none_running.set()

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def oldest(self) -> float:
        """Seconds that the first of them has waited."""
        return time.monotonic() - min(self._queued.values()) if self._queued else 0.0

    @property
    def idle(self) -> bool:
        """Nothing to do now; wake-ups may be set for later."""
        return not self._queued and not self._running and not self._gathering

    @property
    def failing(self) -> int:
        """How many keys had no good pass the last time they were tried."""
        return len(self._failures)

    def add(self, key: Key) -> None:
        if key in self._held:
            return
        if key in self._running:
            self._dirty.add(key)
        elif key not in self._queued:
            self._gathering.discard(key)
            self._queued[key] = time.monotonic()
            self._ready.setdefault(key.namespace, deque()).append(key)
            self._wake_one()

    def add_soon(self, key: Key) -> None:
        """When what comes with this news is here, too."""
        if key in self._running:
            self._dirty.add(key)
        elif key not in self._gathering and key not in self._queued and key not in self._held:
            self._gathering.add(key)
            asyncio.get_running_loop().call_later(GATHER, self._gathered, key)

    def _gathered(self, key: Key) -> None:
        if key in self._gathering:
            self._gathering.discard(key)
            self.add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """The last word counts: an earlier wake-up of the same key is taken back."""
        self._cancel_timer(key)
        if seconds <= 0:
            self.add(key)
        else:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._ring, key)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """After a failure: twice as long as the last time, give or take a fifth. Says how long.

        A wake-up brings the key back sooner, since what it tells may be the cure; but not within `at_least`
        seconds, which is what the API server has asked for.
        """
        self._failures[key] = self._failures.get(key, 0) + 1
        wait = min(FIRST_RETRY * 2.0 ** min(self._failures[key] - 1, 16), SLOWEST_RETRY)
        wait = max(at_least, wait * random.uniform(0.8, 1.2))  # noqa: S311 - spreads retries, guards nothing
        self.add_after(key, wait)
        if at_least > 0:
            self._held.add(key)
            self._dirty.discard(key)
        return wait

    def succeeded(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._cancel_timer(key)

    async def get(self) -> Key:
        """The next key; `done` must be called with it afterwards."""
        while (namespace := self._next()) is None:
            await self._called()
        keys = self._ready.pop(namespace)
        key = keys.popleft()
        if keys:
            self._ready[namespace] = keys  # at the end: the other namespaces come first
        del self._queued[key]
        self._running.add(key)
        self._none_running.clear()
        self._at_work[namespace] += 1
        return key

    async def _called(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._wake_one()  # the call was for whoever comes next, then
            raise

    def _wake_one(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _next(self) -> str | None:
        """The namespace whose turn it is."""
        for namespace in self._ready:
            if self._share is None or self._at_work[namespace] < self._share:
                return namespace
        return None

    def done(self, key: Key) -> None:
        self._running.discard(key)
        self._at_work[key.namespace] -= 1
        if not self._at_work[key.namespace]:
            del self._at_work[key.namespace]
        if self._ready:
            self._wake_one()
        if not self._running:
            self._none_running.set()
        if key in self._dirty:
            self._dirty.discard(key)
            self.add_soon(key)

    async def rest(self) -> None:
        """Until nothing that was handed out is being worked on."""
        await self._none_running.wait()

    def forget(self, key: Key) -> None:
        """The job is gone: nothing about it is kept."""
        self._failures.pop(key, None)
        self._dirty.discard(key)
        self._gathering.discard(key)
        self._cancel_timer(key)

    def _ring(self, key: Key) -> None:
        self._cancel_timer(key)
        self.add(key)

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        self._held.discard(key)
        if timer:
            timer.cancel()
