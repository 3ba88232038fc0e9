"""The way to a server: connections that are kept for the next request, and opened through a proxy if need be."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from socket import SOCK_STREAM
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from aiohappyeyeballs import start_connection
from msgspec import Struct

from trainop.errors import Usage
from trainop.kube.connection import Answer, Connection, Stale

_IDLE = 60  # seconds; the server hangs up after 90, and a request must not run into that
_NEXT_ADDRESS = 0.25  # seconds for which one address of a name is tried alone
_REPEATABLE = frozenset({"GET", "DELETE"})
_PLAIN = re.compile(r"[A-Za-z0-9/_.~-]*")
"""A path as Kubernetes has them: nothing in it needs quoting."""


class Server(Struct, frozen=True):
    """Where it is, how it is reached, and what it is told with every request."""

    url: SplitResult
    headers: Mapping[str, str] = {}
    tls_name: str | None = None
    proxy: SplitResult | None = None


def address(text: str, of: str = "server") -> SplitResult:
    try:
        url = urlsplit(text)
        _ = url.port  # raises for one that is none
    except ValueError as error:
        raise Usage(f"{_shown(text)!r} is no address of a {of}: {error}") from None
    if not url.hostname or url.scheme not in ("http", "https"):
        raise Usage(f"{_shown(text)!r} is no address of a {of}: write https://HOST:PORT or http://HOST:PORT")
    return url


def _shown(text: str) -> str:
    """Without the name and the secret that may stand there."""
    scheme, slashes, rest = text.rpartition("//")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"


class Http:
    """All that goes wrong is an OSError; of these, TimeoutError is what takes longer than `patience` seconds:
    to connect, or to be answered."""

    def __init__(self, server: Server, tls: ssl.SSLContext, patience: float) -> None:
        self._server, self._patience = server, patience
        self.tls = tls
        """For connections that are yet to be opened."""
        self._kept: list[Connection] = []
        """The one that was used last stands last."""
        self._heads: dict[tuple[str, str], bytes] = {}

    def turn_to(self, server: Server) -> None:
        if server != self._server:
            self._server = server
            self._heads.clear()
            self.close()

    def close(self) -> None:
        """What is kept; the next request opens a connection anew."""
        while self._kept:
            self._kept.pop().abort()

    async def call(
        self,
        method: str,
        path: str,
        *,
        accept: str,
        query: str = "",
        content: str = "",
        body: bytes = b"",
        fence: Callable[[], None] | None = None,
    ) -> Answer:
        """`content`: the type of the body; empty: there is none. `fence`: called when there is a connection and
        nothing is sent yet; what it raises is raised."""
        request = self._request(method, path, query, accept, content, body)
        kept = self._next()
        while True:
            connection = kept or await self._connected()
            try:
                if fence is not None:
                    fence()
                answer = await connection.call(request, self._patience)
            except BaseException as error:
                connection.abort()
                if kept is None or method not in _REPEATABLE or not isinstance(error, Stale):
                    raise
                # The server closed it just as we wrote; whether it has read that, nobody knows.
                kept = None
                continue
            if answer.status != 401 and connection.reusable:
                connection.idle_since = time.monotonic()
                self._kept.append(connection)
            else:
                connection.abort()
            return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, accept: str, query: str, silence: float
    ) -> AsyncIterator[tuple[int, Connection]]:
        """A GET whose answer comes piece by piece, for as long as it likes: the status, and whom to read from."""
        connection = await self._connected()
        try:
            async with asyncio.timeout(self._patience):
                status = await connection.stream(self._request("GET", path, query, accept, "", b""), silence)
            yield status, connection
        finally:
            connection.abort()  # nobody answers a goodbye in the middle of a stream

    def _next(self) -> Connection | None:
        newer_than = time.monotonic() - _IDLE
        while self._kept:
            connection = self._kept.pop()
            if connection.reusable and connection.idle_since > newer_than:
                return connection
            connection.abort()
        return None

    def _request(self, method: str, path: str, query: str, accept: str, content: str, body: bytes) -> bytes:
        head = self._heads.get((accept, content))
        if head is None:
            head = self._heads[accept, content] = self._head(accept, content)
        where = self._server.url.path.rstrip("/") + (path if _PLAIN.fullmatch(path) else quote(path))
        target = f"{method} {where}?{query}" if query else f"{method} {where}"
        length = b"Content-Length: %d\r\n\r\n" % len(body) if content else b"\r\n"
        return b"".join((target.encode(), b" HTTP/1.1\r\n", head, length, body))

    def _head(self, accept: str, content: str) -> bytes:
        # Compressed answers cost the server more time than they save on the way.
        headers = {"Host": _place(self._server.url), "Accept": accept, "Accept-Encoding": "identity"}
        headers |= {"Content-Type": content} if content else {}
        return _lines(headers | dict(self._server.headers))

    async def _connected(self) -> Connection:
        async with asyncio.timeout(self._patience):
            server, proxy = self._server, self._server.proxy
            tls = self.tls if server.url.scheme == "https" else None
            name = server.tls_name or server.url.hostname or ""
            if proxy is None:
                return await _opened(server.url, tls, name)
            trust = ssl.create_default_context() if proxy.scheme == "https" else None
            try:
                outer = await _opened(proxy, trust, proxy.hostname or "")
            except OSError as error:
                raise ConnectionError(f"the proxy {_place(proxy)} cannot be reached: {error}") from error
            try:
                status = await outer.stream(_tunnel(proxy, server.url), self._patience)
                if status != 200:
                    raise ConnectionError(f"the proxy {_place(proxy)} answered {status}")
                return await outer.through(tls, name)
            except BaseException:
                outer.abort()
                raise


async def _opened(url: SplitResult, tls: ssl.SSLContext | None, name: str) -> Connection:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(url.hostname, _port(url), type=SOCK_STREAM)
    socket = await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS, interleave=1, loop=loop)
    secure: dict[str, Any] = {"ssl": tls, "server_hostname": name} if tls else {}
    # The socket is the transport's from here on, whatever becomes of it: closed by anybody else, its number would
    # be another's while the loop still listens to it.
    _, connection = await loop.create_connection(Connection, sock=socket, **secure)
    return connection


def _tunnel(proxy: SplitResult, to: SplitResult) -> bytes:
    target = f"[{to.hostname}]:{_port(to)}" if ":" in (to.hostname or "") else f"{to.hostname}:{_port(to)}"
    headers = {"Host": target}
    if proxy.username is not None:
        secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
    return f"CONNECT {target} HTTP/1.1\r\n".encode() + _lines(headers) + b"\r\n"


def _lines(headers: Mapping[str, str]) -> bytes:
    for name, value in headers.items():
        if not value.isprintable():
            raise ConnectionError(f"what is to be sent as {name} has characters that no header may have")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()


def _place(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
