"""One connection over which HTTP/1.1 is spoken: a request, then its answer, whole or as a stream of pieces."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from typing import Any, cast

from httptools import HttpParserError, HttpResponseParser
from msgspec import Struct

_MOST_UNREAD = 1 << 20
"""Bytes of a stream that nobody has asked for, after which no more are taken from the server."""


class Answer(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: str = ""


class Stale(ConnectionError):
    """Closed by the server before it said a word to our request."""


class Connection(asyncio.Protocol):
    """An error makes it unusable: whoever gets one, or stops waiting, must abort."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._pieces: list[bytes] = []
        self._unread = 0
        self._waiting: asyncio.Future[None] | None = None
        self._lost: OSError | None = None
        self._head = b""
        """The beginning of the answer, its headers at least: hardly anybody wants to know what they say."""
        self._streams = False
        self._status = 0
        self._complete = self._goes_on = True
        self._patience = self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        """Runs on when an answer has come: the next request wants one again."""
        self.idle_since = 0.0

    @property
    def reusable(self) -> bool:
        return self._complete and self._goes_on and self._lost is None and not self._transport.is_closing()

    def call(self, request: bytes, patience: float) -> Coroutine[Any, Any, Answer]:
        """TimeoutError after so many seconds."""
        self._send(request, patience)
        return self.rest()

    async def stream(self, request: bytes, silence: float) -> int:
        """The status; then `read`. A stream without a word for `silence` seconds ends: nobody may be there."""
        self._send(request, silence)
        self._streams = True
        while not self._status and not self._complete:
            await self._news()
        if not self._status:
            raise TimeoutError("no answer in time")
        return self._status

    async def read(self) -> bytes:
        """What has come since the last time; empty at the end."""
        while not self._pieces and not self._complete:
            await self._news()
        return self._taken()

    async def rest(self) -> Answer:
        """The whole answer, or what is left of it to read."""
        self._streams = False
        if self._unread:
            self._take_more()
        while not self._complete:
            await self._news()
        retry_after = _header(self._head, b"retry-after") if self._status >= 400 else ""
        return Answer(self._status, self._taken(), retry_after)

    async def through(self, tls: ssl.SSLContext | None, name: str) -> Connection:
        """The connection to the end of the tunnel which this one has become: a proxy was asked for that."""
        inner = Connection()
        self._stop_timer()
        if tls is None:
            self._transport.set_protocol(inner)
            inner.connection_made(self._transport)
        else:
            inner.connection_made(
                await self._loop.start_tls(self._transport, inner, tls, server_hostname=name)
            )
        return inner

    def abort(self) -> None:
        self._stop_timer()
        self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Whether it has taken too long."""
        self._timer = None
        if self._complete:
            return
        left = self._until - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        elif self._streams:
            self._complete, self._goes_on = True, False
            self._wake()
        else:
            self._break(TimeoutError("no answer in time"))

    def _send(self, request: bytes, patience: float) -> None:
        self._streams = self._complete = False
        self._status, self._head = 0, b""
        self._patience, self._until = patience, self._loop.time() + patience
        if self._timer is None:
            self._timer = self._loop.call_later(patience, self._look)
        self._transport.write(request)

    def _news(self) -> asyncio.Future[None]:
        if self._lost is not None:
            raise self._lost
        self._waiting = self._loop.create_future()
        return self._waiting

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _taken(self) -> bytes:
        pieces = self._pieces
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        if self._unread:
            self._take_more()
        return found

    def _take_more(self) -> None:
        if self._unread > _MOST_UNREAD:
            self._transport.resume_reading()
        self._unread = 0

    # --- what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport | None) -> None:
        self._transport = cast(asyncio.Transport, transport)  # asyncio says no more of it than that

    def data_received(self, data: bytes) -> None:
        if self._complete:
            self._transport.abort()  # nobody has asked
            return
        if not self._status:
            self._head += data
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._break(ConnectionError(f"the answer is no HTTP: {error}"))
        if self._streams:
            self._until = self._loop.time() + self._patience
        if self._complete or self._streams:
            self._wake()

    def eof_received(self) -> None:
        framed = any(_header(self._head, name) for name in (b"content-length", b"transfer-encoding"))
        if self._status and not framed:
            # As in old times: the answer goes on until the connection ends.
            self._complete, self._goes_on = True, False

    def connection_lost(self, error: Exception | None) -> None:
        self._stop_timer()
        if self._complete:
            self._lost = self._lost or ConnectionError("closed")
        elif self._head:
            self._break(ConnectionError(f"the connection broke off{_because(error)}"))
        else:
            self._break(Stale(f"the connection was closed{_because(error)}"))
        self._wake()

    def _break(self, error: OSError) -> None:
        self._lost = self._lost or error
        self.abort()
        self._wake()

    # --- what the parser tells

    def on_headers_complete(self) -> None:
        if self._complete:
            raise ConnectionError("there is more than one answer")
        self._status = self._parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)
        if self._streams:
            self._unread += len(piece)
            if self._unread > _MOST_UNREAD:
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        self._complete, self._goes_on = True, self._parser.should_keep_alive()


def _header(head: bytes, name: bytes) -> str:
    """Empty where there is none."""
    for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.lower() == name:
            return value.strip().decode("latin-1")
    return ""


def _because(error: Exception | None) -> str:
    return f": {error}" if error else ""
