"""The API server over HTTP: one session, bytes in and out, and no other errors than ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from msgspec import Struct

from trainop import __version__
from trainop.errors import ApiError, Gone, Unreachable, Usage
from trainop.kube import answers
from trainop.kube.credentials import Credentials
from trainop.kube.port import Change, Listing, Resource
from trainop.kube.pressure import Pressure

T = TypeVar("T")

_CONNECTIONS = 128
_IDLE = 60  # seconds; the server hangs up after 90, and a request must not run into that
_WATCH = 300  # seconds after which the server ends a watch, so that watches spread over its replicas again
_BETWEEN_RENEWALS = 10  # seconds, however often the server says it does not know us
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_METADATA = "application/json;as={};v=v1;g=meta.k8s.io,application/json"


Answered = Callable[[str, str, int], None]
"""Told of every answer: verb, plural of the kind, code (0: there was none)."""


class _Request(NamedTuple):
    verb: str
    method: str
    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Client:
    """Implements port.Api. To be used as an async context manager."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        patience: float = 30,
        silence: float = 90,
        page: int = 500,
        answered: Answered = lambda verb, kind, code: None,
    ) -> None:
        """`patience`: seconds for a call. `silence`: seconds without a word after which a watch ends, since a
        broken connection is silent, too. `page`: how many objects of a list to ask for at once."""
        self._credentials = credentials
        self._answered = answered
        self._pressure = Pressure()
        self._tls = credentials.tls()
        self._renewing = asyncio.Lock()
        self._renew_from = 0.0
        self._call = ClientTimeout(total=patience)
        self._stream = ClientTimeout(sock_connect=patience, sock_read=silence)
        self._page = page
        self._session: ClientSession

    async def __aenter__(self) -> Client:
        self._session = ClientSession(
            connector=TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_IDLE, ssl=self._tls),
            # Compressed answers cost the server more time than they save on the way.
            headers={"User-Agent": f"trainop/{__version__}", "Accept-Encoding": "identity"},
            cookie_jar=DummyCookieJar(),
            proxy=self._credentials.proxy_url,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T:
        return await self._one(_Request("get", "GET", what.plural, what.path(namespace, name)), shape)

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        return await self._one(_Request("create", "POST", what.plural, what.path(namespace)), shape, body)

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        request = _Request("delete", "DELETE", what.plural, what.path(namespace, name))
        await self._one(request, msgspec.Raw, options)

    async def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> T:
        path = what.path(namespace, name, subresource)
        kind = f"{what.plural}/{subresource}" if subresource else what.plural
        return await self._one(_Request("patch", "PATCH", kind, path), shape, patch, content=_MERGE_PATCH)

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        request, codec = _Request("list", "GET", what.plural, what.path(namespace)), _codec(shape)
        query = {"labelSelector": selector, "limit": str(self._page)}
        items: list[T] = []
        while True:
            try:
                async with self._open(request, self._call, accept=codec.accept_list, query=query) as answer:
                    page = _decoded(codec.page, await answer.read(), request.path)
            except Gone:
                if "continue" not in query:
                    raise
                # The server has forgotten the version that the first pages are of: all in one piece, then.
                items, query = [], {"labelSelector": selector}
                continue
            items += page.items or ()
            if not page.metadata.more:
                return Listing(items, page.metadata.resource_version)
            query["continue"] = page.metadata.more

    async def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncGenerator[Change[T], None]:
        request, codec = _Request("watch", "GET", what.plural, what.path(namespace)), _codec(shape)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "labelSelector": selector,
            "timeoutSeconds": str(_WATCH),
        }
        # A quiet kind has no bookmarks either: that the server has opened the stream is a sign of life, too.
        opened = msgspec.json.encode({"metadata": {"resourceVersion": since}})
        begun = b""
        async with self._open(request, self._stream, accept=codec.accept, query=query) as answer:
            try:
                yield Change("BOOKMARK", codec.one.decode(opened))
                while chunk := await _heard(answer):
                    *lines, begun = (begun + chunk).split(b"\n")
                    for line in filter(None, lines):
                        yield _change(codec, line, request.path)
            finally:
                _hang_up(answer)

    async def lines(
        self, what: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[str, None]:
        """A subresource that is text, such as a pod's log, line by line. Ends when the server closes the stream, and
        when nothing was heard for a while: whoever follows has to ask again."""
        path, begun = what.path(namespace, name, subresource), b""
        request = _Request("get", "GET", f"{what.plural}/{subresource}", path)
        async with self._open(request, self._stream, accept="*/*", query=query) as answer:
            try:
                while chunk := await _heard(answer):
                    *lines, begun = (begun + chunk).split(b"\n")
                    for line in lines:
                        yield line.decode(errors="replace")
                if begun:
                    yield begun.decode(errors="replace")
            finally:
                _hang_up(answer)

    async def served(self, group: str, version: str) -> frozenset[str]:
        """The plurals of the kinds that are installed."""
        try:
            found = await self._one(_Request("get", "GET", "", f"/apis/{group}/{version}"), _Discovery)
        except Gone:
            return frozenset()
        return frozenset(resource.name for resource in found.resources)

    async def _one(
        self,
        request: _Request,
        shape: type[T],
        body: Mapping[str, Any] | None = None,
        *,
        content: str = _JSON,
    ) -> T:
        codec = _codec(shape)
        data = None if body is None else msgspec.json.encode(body)
        async with self._pressure.slot():
            sent, code = asyncio.get_running_loop().time(), 0
            try:
                async with self._open(
                    request, self._call, accept=codec.accept, content=content, data=data
                ) as answer:
                    found = _decoded(codec.one, await answer.read(), request.path)
                    code = answer.status
                    return found
            except ApiError as error:
                code = error.code
                raise
            finally:
                self._pressure.answered(code, sent)

    @asynccontextmanager
    async def _open(
        self,
        request: _Request,
        timeout: ClientTimeout,  # noqa: ASYNC109 - aiohttp's own, which tells silence from slowness
        *,
        accept: str,
        content: str = _JSON,
        data: bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> AsyncIterator[ClientResponse]:
        headers = {"Accept": accept, "Content-Type": content}
        try:
            who = await self._identity()
            for last_try in (False, True):
                async with self._session.request(
                    request.method,
                    who.server + request.path,
                    params=query,
                    data=data,
                    headers=headers | who.headers(),
                    timeout=timeout,
                    server_hostname=who.tls_server_name,
                    allow_redirects=False,
                ) as answer:
                    self._answered(request.verb, request.kind, answer.status)
                    if answer.status == 401 and not last_try:
                        answer.close()  # a connection is known by the certificate it was opened with
                        who = await self._identity(refused=who)
                        continue
                    if answer.status >= 300:
                        retry_after = answer.headers.get("Retry-After", "")
                        raise answers.failure(str(request), answer.status, await answer.read(), retry_after)
                    yield answer
                    return
        except TimeoutError as error:
            self._answered(request.verb, request.kind, 0)
            raise Unreachable(f"the API server did not answer in time ({request})") from error
        except (ClientError, OSError) as error:
            self._answered(request.verb, request.kind, 0)
            raise Unreachable(f"the API server cannot be reached ({request}): {error}") from error

    async def _identity(self, refused: Credentials | None = None) -> Credentials:
        """The credentials we have, or new ones when they have expired or were refused."""
        async with self._renewing:
            have = self._credentials
            if have is not refused and not (have.expiration and have.expiration <= datetime.now(UTC)):
                return have
            now = asyncio.get_running_loop().time()
            if now < self._renew_from:
                return have
            self._renew_from = now + _BETWEEN_RENEWALS
            try:
                self._credentials = await asyncio.to_thread(have.renewed)
            except Usage as error:
                raise Unreachable(f"new credentials cannot be had: {error}") from error
            if self._credentials.certificate_path:
                self._tls.load_cert_chain(
                    self._credentials.certificate_path, self._credentials.private_key_path
                )
            return self._credentials


class _Kind(Struct, frozen=True):
    name: str


class _Discovery(Struct, frozen=True):
    resources: tuple[_Kind, ...] = ()


class _ListMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    more: str = msgspec.field(name="continue", default="")


class _Page(Struct, Generic[T], frozen=True):
    metadata: _ListMeta
    items: list[T] | None = None


class _Complaint(Struct, frozen=True, tag_field="type", tag="ERROR"):
    object: answers.Status


class _Codec(Generic[T]):
    """How to ask for a shape, and how to read it."""

    def __init__(self, shape: type[T]) -> None:
        bare = issubclass(shape, Struct) and shape.__struct_fields__ == ("metadata",)
        self.accept = _METADATA.format("PartialObjectMetadata") if bare else _JSON
        self.accept_list = _METADATA.format("PartialObjectMetadataList") if bare else _JSON
        self.one = msgspec.json.Decoder(shape)
        self.page = cast(msgspec.json.Decoder[_Page[T]], msgspec.json.Decoder(_Page[shape]))  # type: ignore[valid-type]  # a runtime generic
        self.change = cast(msgspec.json.Decoder[Change[T]], msgspec.json.Decoder(Change[shape]))  # type: ignore[valid-type]  # a runtime generic


_codecs: dict[type, _Codec[Any]] = {}
_complaints = msgspec.json.Decoder(_Complaint)


def _codec(shape: type[T]) -> _Codec[T]:
    codec = _codecs.get(shape)
    if codec is None:
        codec = _codecs[shape] = _Codec(shape)
    return codec


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes, path: str) -> T:
    try:
        return decoder.decode(data)
    except answers.UNDECODABLE as error:
        raise Unreachable(f"the API server gave an answer that cannot be read ({path}): {error}") from None


def _hang_up(stream: ClientResponse) -> None:
    """Unless the server has ended it: nobody answers a goodbye in the middle of a stream."""
    if stream.connection and stream.connection.transport:
        stream.connection.transport.abort()


async def _heard(stream: ClientResponse) -> bytes:
    """Empty at the end: the server has closed the stream, or nobody may be there any more."""
    try:
        return await stream.content.readany()
    except TimeoutError:
        return b""


def _change(codec: _Codec[T], line: bytes, path: str) -> Change[T]:
    try:
        return codec.change.decode(line)
    except answers.UNDECODABLE:
        complaint = _decoded(_complaints, line, path).object
    raise answers.told(f"a watch of {path}", complaint)
