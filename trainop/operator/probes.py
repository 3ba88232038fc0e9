"""What others ask the process over HTTP: whether it lives, whether it is ready, and its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from aiohttp import web

from trainop.errors import Usage

Complaints = Callable[[], Iterable[str]]
"""What is wrong now, a sentence each; nothing: all is well."""
Page = Callable[[], bytes]
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@asynccontextmanager
async def listening(address: str, routes: Iterable[web.RouteDef]) -> AsyncIterator[str]:
    """Yields HOST:PORT, the port as it is when 0 was asked for."""
    host, port = parse(address)
    site = web.Application()
    site.add_routes(routes)
    runner = web.AppRunner(site, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host or None, port).start()
        except OSError as error:
            raise Usage(
                f"cannot listen on {address}: {error.strerror}; choose another address, or 0 for none, with "
                "--metrics-bind-address or --health-probe-bind-address"
            ) from None
        yield f"{host or '127.0.0.1'}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def health(alive: Complaints, ready: Complaints) -> list[web.RouteDef]:
    return [web.get("/healthz", _verdict(alive)), web.get("/readyz", _verdict(ready))]


def metrics(page: Page) -> list[web.RouteDef]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=page(), headers={"Content-Type": _PROMETHEUS})

    return [web.get("/metrics", answer)]


def parse(address: str) -> tuple[str, int]:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Usage(f"{address} is no address to listen on; write :8080 or 127.0.0.1:8080, or 0 for none")
    return host.strip("[]"), int(port)


def _verdict(complaints: Complaints) -> Callable[[web.Request], asyncio.Future[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        wrong = list(complaints())
        return web.Response(text="\n".join(wrong or ["ok"]) + "\n", status=503 if wrong else 200)

    return answer  # type: ignore[return-value]  # a coroutine function is what aiohttp wants
