"""The API server over HTTP: every verb, shapes in and out, and no other errors than ours."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from trainop import __version__
from trainop.errors import ApiError, Gone, Unreachable, Usage
from trainop.kube import answers
from trainop.kube.connection import Answer
from trainop.kube.credentials import Credentials
from trainop.kube.http import Http, Server, address
from trainop.kube.port import Change, Listing, Resource
from trainop.kube.pressure import Pressure

T = TypeVar("T")

_WATCH = 300  # seconds after which the server ends a watch, so that watches spread over its replicas again
_BETWEEN_RENEWALS = 10  # seconds, however often the server says it does not know us
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_METADATA = "application/json;as={};v=v1;g=meta.k8s.io,application/json"


Answered = Callable[[str, str, int], None]
"""Told of every answer: verb, plural of the kind, code (0: there was none)."""


class _Request(Struct, frozen=True):
    verb: str
    method: str
    kind: str
    path: str
    namespace: str = ""

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
        self._answered = answered
        self._pressure = Pressure()
        self._credentials, self._doubted = credentials, False
        self._http = Http(_server(credentials), credentials.tls(), patience)
        self._renewing = asyncio.Lock()
        self._renew_from = 0.0
        self._silence, self._page = silence, page

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._http.close()
        await asyncio.sleep(0)  # the transports say their goodbyes

    def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> Coroutine[Any, Any, T]:
        return self._one(_Request("get", "GET", what.plural, what.path(namespace, name), namespace), shape)

    def create(
        self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]
    ) -> Coroutine[Any, Any, T]:
        return self._one(
            _Request("create", "POST", what.plural, what.path(namespace), namespace), shape, body
        )

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        request = _Request("delete", "DELETE", what.plural, what.path(namespace, name), namespace)
        await self._one(request, msgspec.Raw, options)

    def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> Coroutine[Any, Any, T]:
        path = what.path(namespace, name, subresource)
        kind = f"{what.plural}/{subresource}" if subresource else what.plural
        return self._one(
            _Request("patch", "PATCH", kind, path, namespace), shape, patch, content=_MERGE_PATCH
        )

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        request, codec = _Request("list", "GET", what.plural, what.path(namespace)), _codec(shape)
        query = {"labelSelector": selector, "limit": str(self._page)}
        items: list[T] = []
        while True:
            try:
                answer = await self._ask(request, codec.accept_list, query=urlencode(query))
                page = _decoded(codec.page, answer.body, request.path)
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
        async with aclosing(self._listen(request, codec.accept, urlencode(query))) as pieces:
            async for piece in pieces:
                if not piece:
                    yield Change("BOOKMARK", codec.one.decode(opened))
                *lines, begun = (begun + piece).split(b"\n")
                for line in filter(None, lines):
                    yield _change(codec, line, request.path)

    async def lines(
        self, what: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[str, None]:
        """A subresource that is text, such as a pod's log, line by line. Ends when the server closes the stream, and
        when nothing was heard for a while: whoever follows has to ask again."""
        path, begun = what.path(namespace, name, subresource), b""
        request = _Request("get", "GET", f"{what.plural}/{subresource}", path)
        async with aclosing(self._listen(request, "*/*", urlencode(query))) as pieces:
            async for piece in pieces:
                *lines, begun = (begun + piece).split(b"\n")
                for line in lines:
                    yield line.decode(errors="replace")
        if begun:
            yield begun.decode(errors="replace")

    async def served(self, group: str, version: str) -> frozenset[str]:
        """The plurals of the kinds that are installed."""
        try:
            found = await self._one(_Request("get", "GET", "", f"/apis/{group}/{version}"), _Discovery)
        except Gone:
            return frozenset()
        return frozenset(resource.name for resource in found.resources)

    async def would_take(self, what: Resource, body: Mapping[str, Any]) -> None:
        """Raises what a create of an object without a namespace would raise; nothing is made."""
        request = _Request("create", "POST", what.plural, what.path(None))
        await self._ask(
            request, _JSON, query="dryRun=All&fieldValidation=Strict", content=_JSON,
            body=msgspec.json.encode(body),
        )  # fmt: skip

    async def _one(
        self,
        request: _Request,
        shape: type[T],
        body: Mapping[str, Any] | None = None,
        *,
        content: str = _JSON,
    ) -> T:
        codec = _codec(shape)
        data = b"" if body is None else msgspec.json.encode(body)
        await self._pressure.enter(request.namespace)
        sent, code = time.monotonic(), 0
        try:
            answer = await self._ask(request, codec.accept, content=content if data else "", body=data)
            found = _decoded(codec.one, answer.body, request.path)
            code = answer.status
            return found
        except ApiError as error:
            code = error.code
            raise
        finally:
            self._pressure.answered(code, sent)
            self._pressure.leave()

    async def _ask(
        self, request: _Request, accept: str, *, query: str = "", content: str = "", body: bytes = b""
    ) -> Answer:
        try:
            for last_try in (False, True):
                who = self._credentials if self._good(None) else await self._identity()
                answer = await self._http.call(
                    request.method, request.path, accept=accept, query=query, content=content, body=body
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

    async def _listen(self, request: _Request, accept: str, query: str) -> AsyncGenerator[bytes, None]:
        """What comes, piece by piece; the first one is empty: the server has begun."""
        try:
            for last_try in (False, True):
                who = await self._identity()
                way = self._http.stream(request.path, accept=accept, query=query, silence=self._silence)
                async with way as (status, stream):
                    self._answered(request.verb, request.kind, status)
                    if status < 300:
                        yield b""
                        while piece := await stream.read():
                            yield piece
                        return
                    if status != 401 or last_try:
                        answer = await stream.rest()
                        raise answers.failure(str(request), status, answer.body, answer.retry_after)
                await self._identity(refused=who)
        except OSError as error:
            raise self._unreachable(request, error) from error

    def _unreachable(self, request: _Request, error: OSError) -> Unreachable:
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


def _change(codec: _Codec[T], line: bytes, path: str) -> Change[T]:
    try:
        return codec.change.decode(line)
    except answers.UNDECODABLE:
        complaint = _decoded(_complaints, line, path).object
    raise answers.told(f"a watch of {path}", complaint)
