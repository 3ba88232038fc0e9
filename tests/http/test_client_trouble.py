"""The client against a server on this machine that does what a real one will not do on command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from trainop.errors import ApiError, Conflict, Deposed, Gone, Refused, Unreachable
from trainop.kube import credentials, pressure, wire
from trainop.kube.client import Client
from trainop.kube.credentials import Credentials
from trainop.kube.port import PODS, Change

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """The address of a server that answers everything with `handler`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


@asynccontextmanager
async def client_of(handler: Handler, **options: Any) -> AsyncIterator[Client]:
    async with serving(handler) as server, Client(Credentials(server=server), **options) as client:
        yield client


async def failure_of(handler: Handler, **options: Any) -> ApiError:
    """What comes out of a create."""
    async with client_of(handler, **options) as api:
        with pytest.raises(ApiError) as failure:
            await api.create(PODS, "ns", {"metadata": {"name": "a"}}, wire.Pod)
    return failure.value


def answering(code: int, text: str = "", **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=text, headers=named)

    return handler


# --- calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (302, Unreachable),
        (400, Refused),
        (403, Refused),
        (404, Gone),
        (409, Conflict),
        (410, Gone),
        (413, Refused),
        (422, Refused),
        (429, Unreachable),
        (500, Unreachable),
        (503, Unreachable),
        (504, Unreachable),
    ],
)
async def test_a_code_says_enough_when_the_answer_says_nothing(code: int, kind: type[ApiError]) -> None:
    failure = await failure_of(answering(code, "<html>", Location="/elsewhere"))
    assert type(failure) is kind
    assert failure.code == code
    assert str(failure) == f"the API server answered {code} to POST /api/v1/namespaces/ns/pods"


async def test_a_server_that_is_busy_says_for_how_long() -> None:
    failure = await failure_of(answering(429, Retry_After="7"))
    assert failure.retry_after == 7


async def test_the_time_to_wait_can_be_in_the_answer() -> None:
    status = {"kind": "Status", "code": 504, "message": "wait", "details": {"retryAfterSeconds": 2}}
    failure = await failure_of(
        answering(504, json.dumps(status), Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")
    )
    assert (str(failure), failure.retry_after) == ("wait", 2)


@pytest.mark.parametrize(
    "text", ["", "<html>", "[]", "{}", '{"metadata":{"name":3}}', '{"metadata":', "[" * 9999]
)
async def test_an_answer_that_cannot_be_read_is_no_answer(text: str) -> None:
    failure = await failure_of(answering(201, text))
    assert isinstance(failure, Unreachable)


async def test_bytes_that_are_no_text_are_no_answer() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b'{"metadata":{"name":"\xff"}}')

    assert isinstance(await failure_of(handler), Unreachable)


async def test_a_connection_that_breaks_is_no_answer() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert isinstance(await failure_of(handler), Unreachable)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with serving(answering(200)) as server:
        pass
    async with Client(Credentials(server=server)) as api:
        with pytest.raises(Unreachable, match="cannot be reached"):
            await api.get(PODS, "ns", "a", dict)


async def test_a_server_that_hangs_is_not_waited_for_for_ever() -> None:
    gone = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await gone.wait()
        return web.Response()

    async with client_of(handler, patience=0.05) as api:
        with pytest.raises(Unreachable, match=r"in time \(GET /api/v1/namespaces/ns/pods/a\)"):
            await api.get(PODS, "ns", "a", dict)
        gone.set()


async def test_a_write_that_waits_in_line_is_not_sent_when_its_fence_has_closed() -> None:
    full, served, asked, most = asyncio.Event(), asyncio.Event(), list[str](), int(pressure.MOST)
    leading = True

    def fence() -> None:
        if not leading:
            raise Deposed("another one leads")

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.method)
        if len(asked) == most:
            full.set()
        await served.wait()
        return web.json_response({"metadata": {"name": "a", "namespace": "ns"}}, status=201)

    async with client_of(handler) as api:
        writer, body = api.fenced(fence), {"metadata": {"name": "a"}}
        writes = [asyncio.create_task(writer.create(PODS, "ns", body, dict)) for _ in range(most + 10)]
        await asyncio.wait_for(full.wait(), 60)
        leading = False
        served.set()
        told = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(it) for it in told] == [dict] * most + [Deposed] * 10
        assert asked == ["POST"] * most
        for refused in (writer.delete(PODS, "ns", "a", "1"), writer.patch(PODS, "ns", "a", {}, dict)):
            with pytest.raises(Deposed):
                await refused
        await writer.get(PODS, "ns", "a", dict)
        await api.create(PODS, "ns", body, dict)
        assert api._pressure.limit == pressure.MOST, "what was not sent says nothing of the server"
    assert asked[most:] == ["GET", "POST"]


async def test_a_list_whose_first_pages_are_forgotten_is_asked_for_in_one_piece() -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append((request.query.get("limit"), request.query.get("continue")))
        if "continue" in request.query:
            return web.json_response({"code": 410, "reason": "Expired"}, status=410)
        more = {"continue": "more"} if "limit" in request.query else {}
        return web.json_response({"metadata": {"resourceVersion": "5"} | more, "items": [{"a": 1}]})

    async with client_of(handler, page=2) as api:
        listing = await api.list(PODS, dict)
    assert asked == [("2", None), ("2", "more"), (None, None)]
    assert (listing.items, listing.resource_version) == ([{"a": 1}], "5")


async def test_the_server_is_told_who_asks() -> None:
    headers: dict[str, str] = {}

    async def handler(request: web.Request) -> web.Response:
        headers.update(request.headers)
        return web.json_response({})

    async with client_of(handler) as api:
        await api.get(PODS, "ns", "a", dict)
    assert headers["User-Agent"].startswith("trainop/")


# --- credentials ----------------------------------------------------------------------------------------------


def write_kubeconfig(path: Path, server: str, user: dict[str, str], **cluster: str) -> str:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(config))
    return str(path)


async def test_after_a_new_login_the_client_goes_on(tmp_path: Path) -> None:
    known = []

    async def handler(request: web.Request) -> web.Response:
        known.append(request.headers["Authorization"])
        return web.json_response({}, status=200 if known[-1] == "Bearer new" else 401)

    async with serving(handler) as server:
        path = write_kubeconfig(tmp_path / "config", server, {"token": "old"})
        async with Client(credentials.load(path)) as api:
            write_kubeconfig(tmp_path / "config", server, {"token": "new"})
            await asyncio.gather(*(api.get(PODS, "ns", "a", dict) for _ in range(5)))
            await api.get(PODS, "ns", "a", dict)
    assert known.count("Bearer new") == 6
    assert known[-1] == "Bearer new"


async def test_who_stays_unknown_is_told_so(tmp_path: Path) -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request)
        return web.json_response({"message": "Unauthorized", "reason": "Unauthorized"}, status=401)

    async with serving(handler) as server:
        path = write_kubeconfig(tmp_path / "config", server, {"token": "old"})
        async with Client(credentials.load(path)) as api:
            with pytest.raises(Unreachable, match="Unauthorized") as failure:
                await api.get(PODS, "ns", "a", dict)
    assert failure.value.code == 401
    assert len(asked) == 2


async def test_a_login_that_is_not_to_be_had_is_temporary(tmp_path: Path) -> None:
    async with serving(answering(401)) as server:
        path = write_kubeconfig(tmp_path / "config", server, {"token": "old"})
        async with Client(credentials.load(path)) as api:
            (tmp_path / "config").unlink()
            with pytest.raises(Unreachable, match="new credentials cannot be had: there is no kubeconfig"):
                await api.get(PODS, "ns", "a", dict)


# --- watches --------------------------------------------------------------------------------------------------


def streaming(*chunks: bytes, then: Callable[[web.Request], Awaitable[None]] | None = None) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        for chunk in chunks:
            await stream.write(chunk)
            await asyncio.sleep(0)
        if then:
            await then(request)
        return stream

    return handler


def line(type_: str, **object_: Any) -> bytes:
    return json.dumps({"type": type_, "object": object_}).encode() + b"\n"


async def told(api: Client, into: list[Change[Any]]) -> None:
    async with asyncio.timeout(20):
        async for change in api.watch(PODS, dict, since="4"):
            into.append(change)  # noqa: PERF401 - what came before an error counts


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
async def test_lines_may_come_in_pieces_of_any_size(size: int) -> None:
    long = "x" * (1 if size == 1 else 200_000)
    text = b"".join(line("ADDED", name=f"é{n}", long=long) for n in range(3)) + b"\n" + line("BOOKMARK")
    # Seven bytes at a time only around the places where lines end: the rest would take long.
    edges = range(0, len(text), size) if size != 7 else [0, *range(len(text) - 300, len(text), size)]
    starts = list(edges)
    pieces = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    changes: list[Change[Any]] = []
    async with client_of(streaming(*pieces)) as api:
        await told(api, changes)
    assert [change.type for change in changes[1:]] == ["ADDED"] * 3 + ["BOOKMARK"]
    assert [change.object["name"] for change in changes[1:4]] == ["é0", "é1", "é2"]


async def test_a_watch_begins_with_a_bookmark_of_where_it_begins() -> None:
    changes: list[Change[Any]] = []
    async with client_of(streaming()) as api:
        await told(api, changes)
    assert changes == [Change("BOOKMARK", {"metadata": {"resourceVersion": "4"}})]


@pytest.mark.parametrize(
    ("code", "kind"), [(410, Gone), (500, Unreachable), (403, Refused), (0, Unreachable)]
)
async def test_an_error_in_the_stream_is_the_error_it_speaks_of(code: int, kind: type[ApiError]) -> None:
    changes: list[Change[Any]] = []
    async with client_of(streaming(line("ADDED"), line("ERROR", code=code, message="so"))) as api:
        with pytest.raises(kind, match="so"):
            await told(api, changes)
    assert [change.type for change in changes] == ["BOOKMARK", "ADDED"]


@pytest.mark.parametrize(
    "garbage", [b"<html>\n", b"{}\n", b"[]\n", b"\xff\n", b'{"type":"ERROR"}\n', line("NEW")]
)
async def test_garbage_in_the_stream_breaks_it(garbage: bytes) -> None:
    async with client_of(streaming(garbage)) as api:
        with pytest.raises(Unreachable, match="cannot be read"):
            await told(api, [])


async def test_a_line_that_was_cut_is_not_told() -> None:
    async def abort(request: web.Request) -> None:
        assert request.transport is not None
        request.transport.abort()

    changes: list[Change[Any]] = []
    async with client_of(streaming(line("ADDED"), line("ADDED")[:9], then=abort)) as api:
        with pytest.raises(Unreachable):
            await told(api, changes)
    assert len(changes) <= 2


async def test_a_stream_without_a_word_ends() -> None:
    over = asyncio.Event()

    async def silence(_: web.Request) -> None:
        await over.wait()

    changes: list[Change[Any]] = []
    async with client_of(streaming(line("ADDED"), then=silence), silence=0.2) as api:
        await told(api, changes)
        over.set()
    assert [change.type for change in changes] == ["BOOKMARK", "ADDED"]
