"""A queue of keys: each at most once, one pass per key at a time, namespaces in turn, failures slower and slower."""

from __future__ import annotations

import asyncio
import random
from collections import deque

from trainop.model import Key

FIRST_RETRY = 0.1
SLOWEST_RETRY = 60.0


class WorkQueue:
    def __init__(self) -> None:
        self._ready: dict[str, deque[Key]] = {}
        """Keys to hand out, by namespace; the first namespace is next."""
        self._queued: set[Key] = set()
        self._running: set[Key] = set()
        self._dirty: set[Key] = set()
        """Woken while running: to be handed out once more."""
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def idle(self) -> bool:
        """Nothing to do now; wake-ups may be set for later."""
        return not self._queued and not self._running

    def add(self, key: Key) -> None:
        if key in self._running:
            self._dirty.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.setdefault(key.namespace, deque()).append(key)
            self._some.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """The last word counts: an earlier wake-up of the same key is taken back."""
        self._cancel_timer(key)
        if seconds <= 0:
            self.add(key)
        else:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._ring, key)

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """After a failure: twice as long as the last time, give or take a fifth. Says how long."""
        self._failures[key] = self._failures.get(key, 0) + 1
        wait = min(FIRST_RETRY * 2.0 ** min(self._failures[key] - 1, 16), SLOWEST_RETRY)
        wait = max(at_least, wait * random.uniform(0.8, 1.2))  # noqa: S311 - spreads retries, guards nothing
        self.add_after(key, wait)
        return wait

    def succeeded(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._cancel_timer(key)

    async def get(self) -> Key:
        """The next key; `done` must be called with it afterwards."""
        while not self._ready:
            self._some.clear()
            await self._some.wait()
        namespace = next(iter(self._ready))
        keys = self._ready.pop(namespace)
        key = keys.popleft()
        if keys:
            self._ready[namespace] = keys  # at the end: the other namespaces come first
        self._queued.discard(key)
        self._running.add(key)
        return key

    def done(self, key: Key) -> None:
        self._running.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def forget(self, key: Key) -> None:
        """The job is gone: nothing about it is kept."""
        self._failures.pop(key, None)
        self._cancel_timer(key)

    def _ring(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer:
            timer.cancel()
