"""The line between the bench and a process that helps it: commands and answers, and the end of both when it is cut."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager


class Helper:
    """The owner's end of the line."""

    def __init__(self, pid: int, hear: asyncio.StreamReader, say: asyncio.StreamWriter) -> None:
        self.pid, self._hear, self._say = pid, hear, say

    async def ask(self, line: str) -> None:
        """Until it is done."""
        self._say.write(f"{line}\n".encode())
        await self._say.drain()
        await self.answer()

    async def answer(self) -> None:
        if not await self._hear.readline():
            raise ChildProcessError("a helper process of the bench has ended by itself; its error is above")


@asynccontextmanager
async def helper(module: str, *words: str, under: Iterable[str] = ()) -> AsyncIterator[Helper]:
    """A module of ours as a process, `under` another command or alone. It says when it is ready, and ends with this
    block, or with this process."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *under, sys.executable, "-m", module, *words, stdin=pipe, stdout=pipe
    )
    if process.stdout is None or process.stdin is None:
        raise AssertionError("both are pipes")
    found = Helper(process.pid, process.stdout, process.stdin)
    try:
        await found.answer()
        yield found
    finally:
        process.stdin.close()
        await process.wait()


async def commands() -> AsyncIterator[str]:
    """The helper's end: what the owner says, until it is gone. Each word before the next is an answer."""
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while True:
        sys.stdout.write("done\n")
        sys.stdout.flush()
        line = await reader.readline()
        if not line:
            return
        yield line.decode().strip()
