"""A server for one test: when the test is over, it is gone, and so are all its connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Does with each connection what `talk` says, until either side has had enough, and closes it. Tells its port."""
    guests: list[tuple[asyncio.StreamWriter, asyncio.Future[None]]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await talk(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Not a coroutine: one that is cancelled before its first step would leave the connection open.
        guests.append((writer, asyncio.ensure_future(serve(reader, writer))))

    try:
        async with await asyncio.start_server(met, "127.0.0.1", ssl=tls) as server:
            yield server.sockets[0].getsockname()[1]
    finally:
        left = [(writer, talking) for writer, talking in guests if not talking.done()]
        for writer, talking in left:
            talking.cancel()
            writer.transport.abort()
        await asyncio.gather(*(talking for _, talking in left), return_exceptions=True)
        await asyncio.sleep(0)  # the transports say their goodbyes
