"""One job from its submission to its end, as processes of this machine: API server, operator and node in one."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Protocol

from trainop.framework import Framework
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Raw
from trainop.local.book import Book
from trainop.local.folder import Folder
from trainop.local.guard import guarded
from trainop.local.node import Node
from trainop.local.options import Options
from trainop.local.ports import Ports
from trainop.operator.controller import Controller

TICK = 0.2
"""Seconds between two looks of the screen, and two states in the folder."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Why(Enum):
    """The run is over."""

    ENDED = "the job has ended"
    INTERRUPTED = "a signal came"
    LATE = "the time was over"


class Screen(Protocol):
    """Who shows the run to a person."""

    def tick(self) -> None:
        """Called again and again."""

    def stopping(self) -> None:
        """A signal has come."""


class Run:
    def __init__(self, framework: Framework[Any], book: Book, folder: Folder, options: Options) -> None:
        self._framework, self._book, self._folder = framework, book, folder
        self._api, self._ports = Memory(), Ports()
        self._controller = Controller(
            self._api, {framework.gvk: framework}, placed=self._ports.placed, puzzled=self._give_up
        )
        self._id = secrets.token_hex(8)
        self._node = Node(self._api, self._id, folder, options, one_machine=framework.one_machine)
        self._interrupted = asyncio.Event()
        self._error: Exception | None = None

    async def play(self, job: Raw, *, limit: float | None, keep: bool, screen: Screen) -> Why:
        """`limit` in seconds; `keep`: what the job leaves running runs on until a signal comes."""
        with self._heeding(screen):
            async with guarded(self._id, self._folder.pids), self._ticking(screen):
                try:
                    return await self._until_over(job, limit, keep)
                finally:
                    # The operator has gone home: nothing that ends now is taken for a failure.
                    await self._node.close()
                    self._ports.close()

    async def _until_over(self, job: Raw, limit: float | None, keep: bool) -> Why:
        async with self._controller.running(), _beside(self._node.run()):
            await self._submit(job)
            ended = asyncio.create_task(self._ended())
            signalled = asyncio.create_task(self._interrupted.wait())
            await asyncio.wait([ended, signalled], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if keep and ended.done() and not signalled.done() and not self._error:
                await signalled
            for task in (ended, signalled):
                task.cancel()
            if self._error:
                raise self._error
            if self._book.finished:
                return Why.ENDED
            return Why.INTERRUPTED if self._interrupted.is_set() else Why.LATE

    def _give_up(self, error: Exception) -> None:
        """With nobody else's jobs to look after, and nothing here that passes by itself, it would only happen again."""
        self._error = error

    async def _submit(self, job: Raw) -> None:
        await self._api.create(self._book.jobs, job["metadata"].get("namespace") or "default", job, dict)

    async def _ended(self) -> None:
        """Until there is a verdict, what is to go is gone, and nothing happens any more; or nobody knows what to do."""
        before = ""
        while True:
            there = await self._api.list(PODS, dict)
            going = any(pod["metadata"].get("deletionTimestamp") for pod in there.items)
            over = (self._book.finished and self._controller.settled) or self._book.gone
            if self._error or (over and not going and before == there.resource_version):
                return
            before = there.resource_version
            await asyncio.sleep(TICK / 4)

    @contextlib.contextmanager
    def _heeding(self, screen: Screen) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._signalled, number, screen)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def _signalled(self, number: signal.Signals, screen: Screen) -> None:
        """A terminal that is closed may say so twice: only a second Ctrl-C means that somebody is in a hurry."""
        if self._interrupted.is_set() and number == signal.SIGINT:
            self._node.kill()
        self._interrupted.set()
        screen.stopping()

    @asynccontextmanager
    async def _ticking(self, screen: Screen) -> AsyncIterator[None]:
        async def again() -> None:
            while True:
                await asyncio.sleep(TICK)
                self._save()
                screen.tick()

        async with _beside(self._book.write(self._api), again()):
            yield
        await self._book.catch_up(self._api)
        self._save()
        screen.tick()

    def _save(self) -> None:
        if self._book.changed.is_set():
            self._book.changed.clear()
            self._folder.save(self._book.whole())


@asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """All of it goes on while the block lasts; none of it may fail."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
