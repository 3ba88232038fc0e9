"""A server of streams that says goodbye to all who came, also to one who came at the last moment."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def receiving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port at which each connection is given to `talk`; none is left open."""
    guests: list[tuple[asyncio.StreamWriter, asyncio.Future[None]]] = []

    def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: one that is cancelled before its first step would close nothing.
        guests.append((writer, asyncio.ensure_future(talk(reader, writer))))

    async with await asyncio.start_server(met, "127.0.0.1", ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]
    for writer, talking in guests:
        talking.cancel()
        writer.transport.abort()
    await asyncio.gather(*(talking for _, talking in guests), return_exceptions=True)
    await asyncio.sleep(0)  # the transports say their goodbyes
