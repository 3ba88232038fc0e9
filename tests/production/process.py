"""One `trainop operator` process: started with flags, asked over HTTP, sent signals, and looked at afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import Signals
from typing import TypeVar

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.leash import Process

T = TypeVar("T")
TRAINOP = Path(sys.executable).with_name("trainop")
PATIENCE = 60.0
"""Seconds. Generous: it only matters when something is broken."""
_ANY_PORT = ("--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
Labels = Mapping[str, str]


async def until(what: str, condition: Callable[[], Awaitable[T | None]], limit: float = PATIENCE) -> T:
    """The first true answer; unlike tests.cluster.waiting it lets proxies and witnesses of this loop go on."""
    deadline = time.monotonic() + limit
    while not (value := await condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit:.0f} s in vain until {what}")
        await asyncio.sleep(0.03)
    return value


async def once(what: str, so: Callable[[], object]) -> None:
    """The same for what is known here and needs no asking."""

    async def seen() -> bool:
        return bool(so())

    await until(what, seen)


class Operator:
    def __init__(self, kubeconfig: Path, log: Path, *flags: str, program: tuple[str, ...] = ()) -> None:
        """`log` is where its words go; `program` is another one that takes the same flags."""
        self._log = log
        self._process = Process(
            [*(program or (str(TRAINOP), "operator")), *_ANY_PORT, *flags],
            log=log,
            env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONWARNINGS": "error::RuntimeWarning"},
        )
        self.pid = self._process.pid

    @property
    def words(self) -> str:
        return self._log.read_text()

    def send(self, number: Signals) -> None:
        os.kill(self.pid, number)

    async def exit_code(self, limit: float = PATIENCE) -> int:
        """Of a process that has been told to end, or cannot go on."""

        async def ended() -> tuple[int] | None:
            code = self._process.wait(0)
            return None if code is None else (code,)

        return (await until(f"process {self.pid} ends", ended, limit))[0]

    @property
    def alive(self) -> bool:
        return self._process.wait(0) is None

    async def stop(self) -> None:
        """In any case; a process that is stopped hears nothing else. Proxies of this loop go on meanwhile."""
        if self.alive:
            self.send(Signals.SIGCONT)
            self.send(Signals.SIGTERM)
            with suppress(AssertionError):
                await self.exit_code(10)
        self._process.stop(0)

    async def address(self) -> str:
        async def told() -> re.Match[str] | None:
            assert self.alive, f"the operator ended by itself:\n{self.words}"
            return re.search(r"listening on (\S+)", self.words)

        return (await until("the operator listens", told))[1]

    async def get(self, path: str) -> tuple[int, str]:
        url = f"http://{await self.address()}{path}"
        limit = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as answer:
            return answer.status, await answer.text()

    async def ready(self) -> Operator:
        async def yes() -> bool:
            return (await self.get("/readyz"))[0] == 200

        await until("the operator is ready", yes)
        return self

    async def leads(self) -> bool:
        return await self.sample("trainop_leader") == 1

    async def follows(self) -> bool:
        return not await self.leads()

    async def sample(self, name: str, **labels: str) -> float:
        """The sum over all samples of that name with these labels."""
        return sum(
            value for n, ls, value in await self.samples() if n == name and labels.items() <= ls.items()
        )

    async def samples(self) -> list[tuple[str, Labels, float]]:
        _, page = await self.get("/metrics")
        families = text_string_to_metric_families(page)
        return [(s.name, s.labels, s.value) for family in families for s in family.samples]


@asynccontextmanager
async def running(
    kubeconfig: Path, log: Path, *flags: str, program: tuple[str, ...] = ()
) -> AsyncIterator[Operator]:
    """However it ends, it has never lost its countenance."""
    operator = Operator(kubeconfig, log, *flags, program=program)
    try:
        yield operator
    finally:
        await operator.stop()
    assert "Traceback" not in operator.words, operator.words
