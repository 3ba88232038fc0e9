"""Has a warden beside the run from its first moment to its last: one that is killed is followed by another."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from trainop.local import warden


@asynccontextmanager
async def guarded(run: str, pids: Path) -> AsyncIterator[None]:
    """When the block is left, or this process ends in whatever way, nothing of the run is alive any more."""
    current = await _started(run, pids)

    async def follow_up() -> None:
        nonlocal current
        while True:
            await current.wait()
            current = await _started(run, pids)

    following = asyncio.create_task(follow_up())
    try:
        yield
    finally:
        following.cancel()
        if current.stdin:
            current.stdin.close()
        await current.wait()


async def _started(run: str, pids: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", warden.__file__, run, str(pids)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # what ends the run must not end this
    )
