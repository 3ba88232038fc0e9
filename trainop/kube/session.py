"""Asks the API server as somebody: with credentials that are read anew once they have expired, or are refused."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from msgspec import Struct

from trainop import __version__
from trainop.errors import Unreachable, Usage
from trainop.kube import answers
from trainop.kube.connection import Answer, Connection
from trainop.kube.credentials import Credentials
from trainop.kube.http import Http, Server, address

_BETWEEN_RENEWALS = 10  # seconds, however often the server says it does not know us
Answered = Callable[[str, str, int], None]
"""Told of every answer: verb, plural of the kind, code (0: there was none)."""


class Request(Struct, frozen=True):
    verb: str
    method: str
    kind: str
    path: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Session:
    def __init__(
        self, credentials: Credentials, *, patience: float, silence: float, answered: Answered
    ) -> None:
        """`patience`: seconds for a call. `silence`: seconds without a word after which a stream ends."""
        self._answered, self._silence = answered, silence
        self._credentials, self._doubted = credentials, False
        self._http = Http(_server(credentials), credentials.tls(), patience)
        self._renewing = asyncio.Lock()
        self._renew_from = 0.0

    def close(self) -> None:
        self._http.close()

    async def ask(
        self,
        request: Request,
        accept: str,
        *,
        query: str = "",
        content: str = "",
        body: bytes = b"",
        fence: Callable[[], None] | None = None,
    ) -> Answer:
        """`fence`: called when the request is about to be sent, and may raise what keeps it from that."""
        try:
            for last_try in (False, True):
                who = self._credentials if self._good(None) else await self._identity()
                answer = await self._http.call(
                    request.method,
                    request.path,
                    accept=accept,
                    query=query,
                    content=content,
                    body=body,
                    fence=fence,
                )
                self._answered(request.verb, request.kind, answer.status)
                if answer.status != 401 or last_try:
                    break
                await self._identity(refused=who)
        except OSError as error:
            raise self._unreachable(request, error) from error
        if answer.status >= 300:
            raise answers.failure(str(request), answer.status, answer.body, answer.retry_after)
        return answer

    @asynccontextmanager
    async def listening(self, request: Request, accept: str, query: str) -> AsyncIterator[Connection]:
        """An answer that has begun and comes piece by piece: whom to read from."""
        try:
            for last_try in (False, True):
                who = await self._identity()
                way = self._http.stream(request.path, accept=accept, query=query, silence=self._silence)
                async with way as (status, stream):
                    self._answered(request.verb, request.kind, status)
                    if status < 300:
                        yield stream
                        return
                    if status != 401 or last_try:
                        answer = await stream.rest()
                        raise answers.failure(str(request), status, answer.body, answer.retry_after)
                await self._identity(refused=who)
        except OSError as error:
            raise self._unreachable(request, error) from error

    def _unreachable(self, request: Request, error: OSError) -> Unreachable:
        self._answered(request.verb, request.kind, 0)
        if isinstance(error, ssl.SSLError):
            self._doubted = True  # the server may have a new authority, of which the files know already
        if isinstance(error, TimeoutError):
            return Unreachable(f"the API server did not answer in time ({request})")
        return Unreachable(f"the API server cannot be reached ({request}): {error}")

    async def _identity(self, refused: Credentials | None = None) -> Credentials:
        """The credentials we have, or new ones when they have expired or were refused."""
        if self._good(refused):
            return self._credentials
        async with self._renewing:
            now = time.monotonic()
            if self._good(refused) or now < self._renew_from:
                return self._credentials
            self._renew_from = now + _BETWEEN_RENEWALS
            try:
                new, tls = await asyncio.to_thread(_renewed, self._credentials)
                self._http.turn_to(_server(new))
            except Usage as error:
                raise Unreachable(f"new credentials cannot be had: {error}") from error
            self._http.tls, self._credentials, self._doubted = tls, new, False
            if new.certificate_path:
                self._http.close()  # connections are known by the certificate they were opened with
            return new

    def _good(self, refused: Credentials | None) -> bool:
        have = self._credentials
        expired = have.expiration is not None and have.expiration <= datetime.now(UTC)
        return not (have is refused or expired or self._doubted)


def _renewed(credentials: Credentials) -> tuple[Credentials, ssl.SSLContext]:
    """Both from the files as they are now."""
    new = credentials.renewed()
    return new, new.tls()


def _server(credentials: Credentials) -> Server:
    return Server(
        address(credentials.server),
        {"User-Agent": f"trainop/{__version__}", **credentials.headers()},
        credentials.tls_server_name,
        address(credentials.proxy_url, "proxy") if credentials.proxy_url else None,
    )
