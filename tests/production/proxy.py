"""Stands between an operator and the API server, writes down what goes through, and does harm where a rule says so.

A rule is a match and an action. It lets `skip` matching calls through, then strikes `count` times. Rules may come and
go at any time; one that matches a watch strikes streams that are open already, too. The first rule that fits counts.
Credentials of a request pass through, so that its rights stay real.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import yaml
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from trainop.kube.credentials import load

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_ONE_CONNECTION = {"host", "content-length", "transfer-encoding", "connection", "keep-alive"}


class Call(NamedTuple):
    """What an API server is asked, in the words of its authorization; `watch` is a verb of its own."""

    verb: str
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def writes(self) -> bool:
        return self.verb in _VERBS.values()

    def __str__(self) -> str:
        what = "/".join(part for part in (self.resource, self.subresource) if part)
        return f"{self.verb} {what or '(discovery)'} {self.namespace}/{self.name}"


def classify(request: web.Request, body: bytes) -> Call:
    words = request.path.strip("/").split("/")
    words = words[2:] if words[0] == "api" else words[3:]
    namespace = ""
    if len(words) > 2 and words[0] == "namespaces":
        namespace, words = words[1], words[2:]
    resource, name, subresource = (*words, "", "", "")[:3]
    read = "get" if name or not resource else "watch" if request.query.get("watch") == "true" else "list"
    verb = _VERBS.get(request.method, read)
    if verb == "create":
        name = json.loads(body)["metadata"].get("name", "")
    return Call(verb, resource, subresource, namespace, name)


@dataclass(frozen=True)
class Match:
    """Shell patterns; a field that is not given matches all. The name of what is created is that in its body."""

    verb: str = "*"
    resource: str = "*"
    namespace: str = "*"
    name: str = "*"

    def __call__(self, call: Call) -> bool:
        fields = ("verb", "resource", "namespace", "name")
        return all(fnmatchcase(getattr(call, name), getattr(self, name)) for name in fields)


@dataclass(frozen=True)
class Answer:
    """This answer instead of the server's."""

    code: int
    retry_after: int


@dataclass(frozen=True)
class Hold:
    """Goes no further as long as the rule is there; `after`: when the server has done what it was asked. On a
    stream: silence, as if half of the connection were gone."""

    after: bool = False


@dataclass(frozen=True)
class Delay:
    seconds: float


@dataclass(frozen=True)
class Cut:
    """The stream breaks off, in the midst of its next line if so wished."""

    mid_line: bool = False


@dataclass(frozen=True)
class Error:
    """A line that says so ends the stream: 410 is a version that the server has forgotten."""

    code: int


Action = Answer | Hold | Delay | Cut | Error


@dataclass(eq=False)
class Rule:
    match: Match
    action: Action
    skip: int = 0
    """Calls that go through first."""
    count: float = math.inf
    struck: int = 0
    _over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def applies(self, call: Call) -> bool:
        if self._over.is_set() or self.struck >= self.count or not self.match(call):
            return False
        self.skip -= 1
        if self.skip >= 0:
            return False
        self.struck += 1
        return True

    def end(self) -> None:
        self._over.set()

    async def ended(self) -> None:
        await self._over.wait()


@dataclass(frozen=True)
class Entry:
    at: float
    """When it came, on the monotonic clock."""
    call: Call
    code: int
    """What was answered; 0: nothing."""
    at_once: int
    """How many calls were under way then, with this one; streams do not count."""
    rule: Rule | None = None
    """That struck it."""


class Proxy:
    def __init__(self, kubeconfig: Path) -> None:
        self._server = load(str(kubeconfig))
        self._trust = ssl.create_default_context(cafile=self._server.ca_path)
        self.trace: list[Entry] = []
        self._rules: list[Rule] = []
        self._news = asyncio.Event()
        """There is another rule; then this is another event."""
        self._at_once = 0
        self._session: ClientSession
        self._runner: web.AppRunner
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        async with ClientSession(connector=TCPConnector(limit=0), auto_decompress=False) as self._session:
            await self.listen()
            try:
                yield self
            finally:
                await self.vanish()

    async def listen(self) -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def vanish(self) -> None:
        """Nobody listens any more, and what was open is broken. `listen` brings it back where it was."""
        await self._runner.cleanup()

    def kubeconfig(self, path: Path, token: str) -> Path:
        """Written there: the way through this proxy with that token."""
        config = {
            "clusters": [{"name": "proxy", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "user"}}],
            "current-context": "proxy",
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def rule(self, match: Match, action: Action, *, skip: int = 0, count: float = math.inf) -> Rule:
        """From now on, until `end` is called on it."""
        self._rules.append(made := Rule(match, action, skip, count))
        self._news.set()
        self._news = asyncio.Event()
        return made

    def calls(self, matches: Callable[[Call], bool], since: float = -math.inf) -> list[Entry]:
        return [entry for entry in self.trace if entry.at >= since and matches(entry.call)]

    def _struck(self, call: Call) -> Rule | None:
        return next((rule for rule in self._rules if rule.applies(call)), None)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        call, came, code = classify(request, body), time.monotonic(), 0
        if call.verb == "watch":
            return await self._watched(request, call)
        self._at_once += 1
        at_once, rule = self._at_once, self._struck(call)
        try:
            answer = await self._answered(request, body, rule)
            code = answer.status
        except ClientError:
            _break(request)
            return web.Response()
        else:
            return answer
        finally:
            self._at_once -= 1
            self.trace.append(Entry(came, call, code, at_once, rule))

    async def _answered(self, request: web.Request, body: bytes, rule: Rule | None) -> web.Response:
        match rule:
            case Rule(action=Delay(seconds)):
                await asyncio.sleep(seconds)
            case Rule(action=Hold(after=False)):
                await rule.ended()
            case Rule(action=Answer(code, retry_after)):
                return _refusal(code, retry_after)
        async with self._forwarded(request, body) as answer:
            content = await answer.read()
        if rule is not None and rule.action == Hold(after=True):
            await rule.ended()
        return web.Response(body=content, status=answer.status, headers=_passed_on(answer.headers))

    async def _watched(self, request: web.Request, call: Call) -> web.StreamResponse:
        stream, came = web.StreamResponse(), time.monotonic()
        try:
            async with self._forwarded(request, b"") as answer:
                self.trace.append(Entry(came, call, answer.status, self._at_once))
                stream.set_status(answer.status)
                stream.headers.update(_passed_on(answer.headers))
                await stream.prepare(request)
                await self._pass_on(request, call, answer, stream)
        except (ClientError, ConnectionError):
            _break(request)
        return stream

    async def _pass_on(
        self, request: web.Request, call: Call, answer: ClientResponse, stream: web.StreamResponse
    ) -> None:
        reading = asyncio.ensure_future(answer.content.readany())
        try:
            while True:
                news = asyncio.ensure_future(self._news.wait())
                rule = self._struck(call)
                match rule:
                    case Rule(action=Hold()):
                        await rule.ended()
                    case Rule(action=Cut(mid_line)):
                        await stream.write((await reading)[:20] if mid_line else b"")
                        return _break(request)
                    case Rule(action=Error(code)):
                        return await stream.write(_complaint(code))
                await asyncio.wait({reading, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if reading.done():
                    if not (chunk := reading.result()):
                        return None
                    await stream.write(chunk)
                    reading = asyncio.ensure_future(answer.content.readany())
        finally:
            reading.cancel()
            news.cancel()
            with suppress(asyncio.CancelledError, ClientError):
                await reading

    @asynccontextmanager
    async def _forwarded(self, request: web.Request, body: bytes) -> AsyncIterator[ClientResponse]:
        async with self._session.request(
            request.method,
            URL(self._server.server + request.raw_path, encoded=True),
            data=body or None,
            headers=_passed_on(request.headers),
            ssl=self._trust,
            server_hostname=self._server.tls_server_name,
            timeout=ClientTimeout(total=None),
        ) as answer:
            yield answer


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OF_ONE_CONNECTION}


def _status(code: int) -> dict[str, object]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": f"so: {code}"}


def _complaint(code: int) -> bytes:
    return json.dumps({"type": "ERROR", "object": _status(code)}).encode() + b"\n"


def _refusal(code: int, retry_after: int) -> web.Response:
    return web.json_response(_status(code), status=code, headers={"Retry-After": str(retry_after)})


def _break(request: web.Request) -> None:
    """What was written goes out; nothing says that this is the end."""
    if request.transport is not None:
        request.transport.close()
