"""SIGTERM and SIGINT: what they end, and that they are heard by us whoever else wants them."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Signals:
    def __init__(self) -> None:
        self.heard = False
        self._work: asyncio.Task[None]

    async def end(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work until a signal comes, which cancels it; a second one also what it does at its end."""
        self._work = asyncio.create_task(work)
        self.heed()
        try:
            await self._work
        except asyncio.CancelledError:
            if not self.heard:
                raise

    def heed(self) -> None:
        """From now on. To be called again after someone else, such as kopf, has taken the signals for himself."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._end, number)

    def _end(self, number: signal.Signals) -> None:
        log.info("%s: ending", number.name)
        self.heard = True
        self._work.cancel()
