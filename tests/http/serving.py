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
    guests: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guest = asyncio.current_task()
        assert guest
        guests[guest] = writer
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await talk(reader, writer)
        with suppress(OSError, asyncio.CancelledError):
            writer.close()
            await writer.wait_closed()
        del guests[guest]

    try:
        async with await asyncio.start_server(serve, "127.0.0.1", ssl=tls) as server:
            yield server.sockets[0].getsockname()[1]
    finally:
        left = tuple(guests)
        for guest in left:
            guests[guest].transport.abort()
            guest.cancel()
        await asyncio.gather(*left)
