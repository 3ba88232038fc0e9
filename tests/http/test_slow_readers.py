"""Who reads slowly: a server may send no more than a little ahead of us, and nothing that it sends is lost."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.http.guests import receiving
from tests.production.process import once
from trainop.kube import wire
from trainop.kube.cache import Cache
from trainop.kube.client import Client
from trainop.kube.connection import Connection
from trainop.kube.credentials import Credentials
from trainop.kube.port import PODS
from trainop.model import Key, SeenPod

MIB = 1 << 20
MANY, SIZE = 64, MIB
"""Lines of a watch, and how long each is."""
AHEAD = 24 * MIB
"""What buffers of the kernel may hold on both sides of a loopback connection, generously, and ours."""
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Flood:
    """An API server that sends as fast as it is let, and counts."""

    sent: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            if b"watch=true" in request:
                await self._watched(writer)
            else:
                listing = json.dumps({"metadata": {"resourceVersion": "1"}, "items": []}).encode()
                writer.write(HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(listing), listing))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass

    async def _watched(self, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for number in range(MANY):
            line = a_line(number)
            writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            self.sent += len(line)
        writer.write(b"0\r\n\r\n")

    async def settled(self) -> None:
        """It can send nothing more for now, or has sent everything."""
        before, quiet = -1, 0
        while quiet < 50:
            quiet = quiet + 1 if self.sent == before else 0
            before = self.sent
            await asyncio.sleep(0)


def a_line(number: int) -> bytes:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "job", "uid": "u", "controller": True}
    metadata = {
        "name": f"pod-{number:03}",
        "namespace": "ns",
        "uid": f"u-{number}",
        "resourceVersion": str(number + 2),
        "ownerReferences": [owner],
    }
    pod = {"metadata": metadata, "spec": {"padding": "x" * SIZE}}
    return json.dumps({"type": "ADDED", "object": pod}).encode() + b"\n"


@asynccontextmanager
async def flooding(flood: Flood) -> AsyncIterator[Client]:
    async with (
        receiving(flood.serve) as port,
        Client(Credentials(server=f"http://127.0.0.1:{port}")) as api,
    ):
        yield api


async def test_a_server_gets_no_further_ahead_than_a_little() -> None:
    flood, ahead, names = Flood(), [], []
    async with asyncio.timeout(60), flooding(flood) as api:
        async for change in api.watch(PODS, wire.Pod, since="1"):
            if change.type == "ADDED":
                await flood.settled()
                names.append(change.object.metadata.name)
                ahead.append(flood.sent - len(names) * SIZE)
    assert names == [f"pod-{number:03}" for number in range(MANY)]
    assert max(ahead) < AHEAD < MANY * SIZE / 2


async def test_who_is_busy_while_much_happens_knows_everything_in_the_end() -> None:
    flood, woken = Flood(), []

    def wake(key: Key) -> None:
        time.sleep(0.002)  # somebody does not give way
        woken.append(key)

    async with asyncio.timeout(60), flooding(flood) as api:
        cache: Cache[SeenPod] = Cache(api, PODS, wire.Pod, selector="", wake=wake)
        running = asyncio.create_task(cache.run())
        await once("all are known", lambda: len(cache) == MANY)
        running.cancel()
        await asyncio.wait([running])
    assert [pod.name for pod in cache.of("u")] == [f"pod-{number:03}" for number in range(MANY)]
    assert len(woken) == MANY


async def test_of_a_stream_that_nobody_reads_little_is_held_and_the_rest_comes_when_it_is_wanted() -> None:
    flood = Flood()
    async with receiving(flood.serve) as port:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
        await connection.stream(b"GET /?watch=true HTTP/1.1\r\n\r\n", 60)
        await once("more has come than is held", lambda: sum(map(len, connection._pieces)) > MIB)
        await flood.settled()
        assert sum(map(len, connection._pieces)) < 2 * MIB
        async with asyncio.timeout(60):
            answer = await connection.rest()
        assert answer.body == b"".join(map(a_line, range(MANY)))
        connection.abort()
