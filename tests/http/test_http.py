"""The way to a server: what is kept, what is sent again, how a proxy is passed, and which answers are none."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.http.guests import Talk, receiving
from trainop.errors import Usage
from trainop.kube.http import Http, Server, address

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[str]:
    """A server that does with each connection what `talk` says, and then closes it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with receiving(serve) as port:
        yield f"127.0.0.1:{port}"


@asynccontextmanager
async def way_to(talk: Talk, *, patience: float = 30.0, prefix: str = "") -> AsyncIterator[Http]:
    async with listening(talk) as place:
        http = Http(Server(address(f"http://{place}{prefix}")), ssl.create_default_context(), patience)
        yield http
        http.close()
        await asyncio.sleep(0)


async def asked(reader: asyncio.StreamReader) -> str:
    """The first line of the next request; what comes with it is read, too."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    for line in head.splitlines():
        name, _, value = line.partition(": ")
        if name == "Content-Length":
            await reader.readexactly(int(value))
    return head.splitlines()[0]


def saying(answer: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        writer.write(answer)

    return talk


async def get(http: Http, path: str = "/a") -> tuple[int, bytes]:
    answer = await http.call("GET", path, accept="application/json")
    return answer.status, answer.body


async def test_requests_one_after_another_go_over_one_connection() -> None:
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await asked(reader)
            writer.write(OK)

    async with way_to(talk) as http:
        assert [await get(http) for _ in range(3)] == [(200, b"{}")] * 3
    assert len(connections) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_a_closed_connection_did_not_answer_is_asked_once_more(method: str) -> None:
    heard = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await asked(reader))
        writer.write(OK)
        await writer.drain()
        heard.append(await asked(reader))  # and no answer

    async with way_to(talk) as http:
        await get(http)
        answer = await http.call(method, "/b", accept="application/json")
    assert answer.status == 200
    assert heard == ["GET /a HTTP/1.1"] + [f"{method} /b HTTP/1.1"] * 2


async def test_a_write_is_never_sent_a_second_time() -> None:
    heard = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await asked(reader))
        writer.write(OK)
        await writer.drain()
        heard.append(await asked(reader))  # and no answer

    async with way_to(talk) as http:
        await get(http)
        with pytest.raises(ConnectionError):
            await http.call("POST", "/b", accept="", content="application/json", body=b"{}")
    assert heard == ["GET /a HTTP/1.1", "POST /b HTTP/1.1"]


async def test_connections_are_kept_as_long_as_the_server_and_who_asks_are_the_same() -> None:
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await asked(reader)
            writer.write(OK)

    async with way_to(talk) as http:
        await get(http)
        http.turn_to(Server(http._server.url))
        await get(http)
        assert len(connections) == 1
        http.turn_to(Server(http._server.url, {"Authorization": "Bearer new"}))
        await get(http)
    assert len(connections) == 2


async def test_a_connection_over_which_one_was_not_known_is_not_used_again() -> None:
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await asked(reader)
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    async with way_to(talk) as http:
        assert [(await get(http))[0] for _ in range(2)] == [401, 401]
    assert len(connections) == 2


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n",
            b"abcde",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\nConnection: close\r\n\r\nabc", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
async def test_an_answer_ends_where_http_says_that_it_ends(answer: bytes, body: bytes) -> None:
    async with way_to(saying(answer)) as http:
        assert (await get(http))[1] == body


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"220 mail.example.test ESMTP\r\n",
    ],
)
async def test_half_an_answer_or_another_language_is_none(answer: bytes) -> None:
    async with way_to(saying(answer)) as http:
        with pytest.raises(ConnectionError):
            await get(http)


async def test_words_that_nobody_has_asked_for_are_no_answer_to_the_next_request() -> None:
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await asked(reader)
            writer.write(OK + OK.replace(b"{}", b"[]"))

    async with way_to(talk) as http:
        assert [await get(http) for _ in range(2)] == [(200, b"{}")] * 2
    assert len(connections) == 2


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with way_to(talk, patience=0.05) as http:
        with pytest.raises(TimeoutError):
            await get(http)


async def test_a_name_is_no_path_no_query_and_no_header() -> None:
    heard = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await asked(reader))
        writer.write(OK)

    async with way_to(talk, prefix="/clusters/one/") as http:
        await get(http, "/pods/a?b c\r\nX: y")
    assert heard == ["GET /clusters/one/pods/a%3Fb%20c%0D%0AX%3A%20y HTTP/1.1"]


async def test_a_secret_with_a_line_break_is_not_sent() -> None:
    async with way_to(saying(OK)) as http:
        http.turn_to(Server(http._server.url, {"Authorization": "Bearer a\r\nX: y"}))
        with pytest.raises(ConnectionError, match="Authorization"):
            await get(http)


async def test_through_a_proxy_a_tunnel_leads_to_the_server() -> None:
    heard = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        heard.append(await asked(reader))
        writer.write(OK)

    async with listening(talk) as proxy:
        server = Server(address("http://[fd00::1]:6443"), proxy=address(f"http://me:it%21@{proxy}"))
        http = Http(server, ssl.create_default_context(), 30)
        assert await get(http) == (200, b"{}")
        http.close()
    first, *more = heard[0].splitlines()
    assert first == "CONNECT [fd00::1]:6443 HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6aXQh" in more
    assert heard[1] == "GET /a HTTP/1.1"


async def test_a_proxy_that_lets_nobody_through_is_named() -> None:
    async with listening(saying(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")) as proxy:
        server = Server(address("https://example.test"), proxy=address(f"http://secret@{proxy}"))
        http = Http(server, ssl.create_default_context(), 30)
        with pytest.raises(ConnectionError, match=f"the proxy {proxy} answered 407"):
            await get(http)


@pytest.mark.parametrize(
    "text", ["", "example.test", "socks5://example.test", "https://", "https://a:b", "https://["]
)
def test_what_is_no_address_is_said_to_be_none(text: str) -> None:
    with pytest.raises(Usage, match="is no address of a server"):
        address(text)
