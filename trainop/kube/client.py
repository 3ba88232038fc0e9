"""The API server over HTTP: every verb, shapes in and out, and no other errors than ours."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from trainop.errors import ApiError, Gone, Unreachable
from trainop.kube import answers
from trainop.kube.credentials import Credentials
from trainop.kube.port import Change, Listing, Resource
from trainop.kube.pressure import Pressure
from trainop.kube.session import Answered, Request, Session

T = TypeVar("T")

_WATCH = 300  # seconds after which the server ends a watch, so that watches spread over its replicas again
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_METADATA = "application/json;as={};v=v1;g=meta.k8s.io,application/json"


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
        self._session = Session(credentials, patience=patience, silence=silence, answered=answered)
        self._pressure, self._page = Pressure(), page
        self._fence: Callable[[], None] | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._session.close()
        await asyncio.sleep(0)  # the transports say their goodbyes

    def fenced(self, fence: Callable[[], None]) -> Client:
        """The same client, but what `fence` raises keeps a write from being sent. It is asked last of all: a write may
        have waited for long until fewer were in flight."""
        other = copy.copy(self)
        other._fence = fence
        return other

    def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> Coroutine[Any, Any, T]:
        return self._one(Request("get", "GET", what.plural, what.path(namespace, name), namespace), shape)

    def create(
        self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]
    ) -> Coroutine[Any, Any, T]:
        return self._one(Request("create", "POST", what.plural, what.path(namespace), namespace), shape, body)

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        request = Request("delete", "DELETE", what.plural, what.path(namespace, name), namespace)
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
        return self._one(Request("patch", "PATCH", kind, path, namespace), shape, patch, content=_MERGE_PATCH)

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        request, codec = Request("list", "GET", what.plural, what.path(namespace)), _codec(shape)
        query = {"labelSelector": selector, "limit": str(self._page)}
        items: list[T] = []
        while True:
            try:
                answer = await self._session.ask(request, codec.accept_list, query=urlencode(query))
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
        request, codec = Request("watch", "GET", what.plural, what.path(namespace)), _codec(shape)
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
        async with self._session.listening(request, codec.accept, urlencode(query)) as stream:
            yield Change("BOOKMARK", codec.one.decode(opened))
            while piece := await stream.read():
                if not begun and piece.find(b"\n") == len(piece) - 1 > 0:
                    lines = [piece]  # as it mostly is; to take a piece apart costs as much as to read it
                else:
                    *lines, begun = (begun + piece).split(b"\n")
                for line in filter(None, lines):
                    yield _change(codec, line, request.path)

    async def lines(
        self, what: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[str, None]:
        """A subresource that is text, such as a pod's log, line by line. Ends when the server closes the stream, and
        when nothing was heard for a while: whoever follows has to ask again."""
        path, begun = what.path(namespace, name, subresource), b""
        request = Request("get", "GET", f"{what.plural}/{subresource}", path)
        async with self._session.listening(request, "*/*", urlencode(query)) as stream:
            while piece := await stream.read():
                *lines, begun = (begun + piece).split(b"\n")
                for line in lines:
                    yield line.decode(errors="replace")
        if begun:
            yield begun.decode(errors="replace")

    async def served(self, group: str, version: str) -> frozenset[str]:
        """The plurals of the kinds that are installed."""
        try:
            found = await self._one(Request("get", "GET", "", f"/apis/{group}/{version}"), _Discovery)
        except Gone:
            return frozenset()
        return frozenset(resource.name for resource in found.resources)

    async def would_take(self, what: Resource, body: Mapping[str, Any]) -> None:
        """Raises what a create of an object without a namespace would raise; nothing is made."""
        request = Request("create", "POST", what.plural, what.path(None))
        await self._session.ask(
            request, _JSON, query="dryRun=All&fieldValidation=Strict", content=_JSON,
            body=msgspec.json.encode(body),
        )  # fmt: skip

    async def _one(
        self,
        request: Request,
        shape: type[T],
        body: Mapping[str, Any] | None = None,
        *,
        content: str = _JSON,
    ) -> T:
        codec = _codec(shape)
        data = b"" if body is None else msgspec.json.encode(body)
        if not self._pressure.entered():
            await self._pressure.enter(request.namespace)
        sent = time.monotonic()
        try:
            answer = await self._session.ask(
                request,
                codec.accept,
                content=content if data else "",
                body=data,
                fence=self._fence if data else None,
            )
            found = _decoded(codec.one, answer.body, request.path)
            self._pressure.answered(answer.status, sent)
            return found
        except ApiError as error:
            self._pressure.answered(error.code, sent)
            raise
        finally:
            self._pressure.leave()


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
