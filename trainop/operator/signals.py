"""SIGTERM and SIGINT, and what they end."""

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
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._end, number)
        try:
            await self._work
        except asyncio.CancelledError:
            if not self.heard:
                raise

    def _end(self, number: signal.Signals) -> None:
        log.info("%s: ending", number.name)
        self.heard = True
        self._work.cancel()
