"""The null operator: sends only the creates that a perfect operator would send, 64 in flight, and nothing else.

It has the product's event loop, TLS and bodies, and sends them by aiohttp, the usual client for this: that is the
yardstick, whatever the product itself uses by now (for the watch on jobs, which costs next to nothing here, the
product's own). `python -m bench.null KUBECONFIG NAMESPACE` runs until its standard input ends.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import uvloop
from aiohttp import ClientSession, DummyCookieJar, TCPConnector

from bench.lifeline import commands
from bench.loads import tensorflow
from trainop.engine import pods, services
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.cluster import resource
from trainop.kube.credentials import Credentials, load
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.parse import parse

IN_FLIGHT = 64
Request = tuple[str, bytes]
"""Path and body."""


async def main(kubeconfig: str, namespace: str) -> None:
    login, framework = load(kubeconfig), tensorflow()
    waiting: asyncio.Queue[Request] = asyncio.Queue()
    async with Client(login) as api, _session(login) as session:
        tasks = [asyncio.create_task(_send(session, login.server, waiting)) for _ in range(IN_FLIGHT)]
        listing = await api.list(resource(framework), dict, namespace=namespace)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)

        async def listen() -> None:
            version = listing.resource_version
            while True:
                async for change in api.watch(resource(framework), dict, since=version, namespace=namespace):
                    version = change.object["metadata"]["resourceVersion"]
                    if change.type == "ADDED":
                        for request in creates(framework, change.object):
                            waiting.put_nowait(request)

        tasks.append(asyncio.create_task(listen()))
        async for _ in commands():
            pass  # it hears of jobs as an operator does; what it waits for here is the end
        for task in tasks:
            task.cancel()


def creates(framework: Framework[Any], raw: Raw) -> Iterator[Request]:
    job = parse(framework, raw)
    members = topology(framework, job)
    environment = framework.bootstrap(job, members)
    for member in members:
        pod = pods.manifest(framework, job, member, environment(member))
        yield PODS.path(job.namespace), msgspec.json.encode(pod)
        yield SERVICES.path(job.namespace), msgspec.json.encode(services.manifest(framework, job, member))


def _session(login: Credentials) -> ClientSession:
    """Connections are kept, answers not compressed."""
    return ClientSession(
        connector=TCPConnector(limit=128, keepalive_timeout=60, ssl=login.tls()),
        headers={
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **login.headers(),
        },
        cookie_jar=DummyCookieJar(),
    )


async def _send(session: ClientSession, server: str, waiting: asyncio.Queue[Request]) -> None:
    while True:
        path, body = await waiting.get()
        async with session.post(server + path, data=body, allow_redirects=False) as answer:
            told = await answer.read()
            if answer.status != 201:
                raise SystemExit(f"the null operator was refused: {told.decode()}")


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:3]))
