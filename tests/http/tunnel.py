"""A proxy that leads whoever sends CONNECT to one server, writes down where they wanted to go, and listens."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.http.guests import receiving

_HANGS_UP = (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)


@dataclass
class Tunnel:
    to: tuple[str, int]
    place: str = ""
    """Where it listens, as HOST:PORT."""
    asked: list[str] = field(default_factory=list)
    """The first line of each who came."""
    passed: bytearray = field(default_factory=bytearray)
    """All that went to the server."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One who came, until either side has had enough."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.asked.append(head.decode().splitlines()[0])
            theirs, server = await asyncio.open_connection(*self.to)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            try:
                await self._join((reader, server), (theirs, writer))
            finally:
                server.transport.abort()
        except _HANGS_UP:
            pass
        finally:
            writer.transport.abort()

    async def _join(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        notes = self.passed, bytearray()
        tasks = [asyncio.create_task(_pass(*way, into)) for way, into in zip(ways, notes, strict=True)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, into: bytearray) -> None:
    while piece := await reader.read(1 << 16):
        into += piece
        writer.write(piece)
        await writer.drain()


@asynccontextmanager
async def tunnel(to: tuple[str, int], tls: ssl.SSLContext | None = None) -> AsyncIterator[Tunnel]:
    """With `tls` it is an https:// proxy."""
    made = Tunnel(to)
    async with receiving(made.serve, tls) as port:
        made.place = f"127.0.0.1:{port}"
        yield made
