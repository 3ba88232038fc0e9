"""The logs of a job's members: read as they are, or followed through restarts and replacements to the job's end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct

from trainop.api.spec import CleanPodPolicy
from trainop.errors import ApiError, Gone, Refused
from trainop.explain.evidence import Container, Evidence
from trainop.explain.members import Row, rows
from trainop.kube.client import Client
from trainop.kube.port import PODS

AT_ONCE = 16
"""Logs that are read at the same time."""
ROOM = 1_000
"""Lines that wait to be printed."""
MOST_FOLLOWED = 100
"""Members, each with a connection of its own."""
LINGER = 60.0
"""Seconds that pods of a job that has ended get to end, too, before they are left alone."""


class Line(Struct, frozen=True):
    role: str
    index: int
    attempt: int
    """How often the member had been restarted before."""
    time: str
    message: str


class Ask(Struct, frozen=True):
    """What of the logs is wanted."""

    container: str
    role: str = ""
    index: int | None = None
    previous: bool = False
    since: float | None = None
    """Seconds."""
    tail: int | None = None

    def chosen(self, evidence: Evidence) -> list[Row]:
        return [
            row
            for row in rows(evidence)
            if (not self.role or row.role.lower() == self.role.lower()) and self.index in (None, row.index)
        ]

    def query(self, **more: str) -> dict[str, str]:
        query = {"container": self.container, "timestamps": "true"}
        if self.since is not None:
            query["sinceSeconds"] = str(math.ceil(self.since))
        if self.tail is not None:
            query["tailLines"] = str(self.tail)
        return query | more


class Trouble(NamedTuple):
    """A log that cannot be read."""

    member: str
    message: str


async def read(api: Client, evidence: Evidence, ask: Ask) -> tuple[list[Line], list[Trouble]]:
    """All that is there, in the order in which it was written."""
    slots, namespace = asyncio.Semaphore(AT_ONCE), evidence.job.namespace

    async def one(row: Row) -> list[Line] | Trouble:
        own = _container(row, ask)
        if own is None or not _has_log(own, ask):
            return []
        query = ask.query(**({"previous": "true"} if ask.previous else {}))
        attempt = own.restart_count - ask.previous
        try:
            async with slots, aclosing(api.lines(PODS, namespace, row.pod_name, "log", query)) as lines:
                return [_line(row, attempt, text) async for text in lines]
        except ApiError as error:
            if _forbidden(error):
                raise
            return Trouble(row.name, str(error))

    answers = await asyncio.gather(*map(one, ask.chosen(evidence)))
    found = [line for answer in answers if isinstance(answer, list) for line in answer]
    return sorted(found, key=_moment), [answer for answer in answers if isinstance(answer, Trouble)]


class Follower:
    """Prints nothing twice and leaves nothing out: each start of a container is followed, and read once more when it
    is over, for what a broken stream has swallowed."""

    def __init__(self, api: Client, ask: Ask, troubled: Callable[[Trouble], None]) -> None:
        self._api, self._ask, self._troubled = api, ask, troubled
        self._lines: asyncio.Queue[Line | ApiError | None] = asyncio.Queue(ROOM)
        """None: that was all."""
        self._tails: dict[str, _Tail] = {}
        """By the UID of the pod."""
        self._complained: set[Trouble] = set()

    async def lines(self, looks: AsyncIterator[Evidence | None]) -> AsyncGenerator[Line, None]:
        """`looks` are looks at the job, again and again; None: it is not there any more."""
        work = asyncio.create_task(self._run(looks))
        try:
            while (line := await self._lines.get()) is not None:
                if isinstance(line, ApiError):
                    raise line
                yield line
            await work
        finally:
            for task in (work, *(tail.task for tail in self._tails.values() if tail.task)):
                task.cancel()

    async def _run(self, looks: AsyncIterator[Evidence | None]) -> None:
        try:
            await self._tend_all(looks)
        finally:
            await self._lines.put(None)

    async def _tend_all(self, looks: AsyncIterator[Evidence | None]) -> None:
        first, ended_at, clock = True, None, asyncio.get_running_loop().time
        async for evidence in looks:
            found = self._ask.chosen(evidence) if evidence else []
            if evidence is None or evidence.job.status.finished:
                ended_at = ended_at or clock()
            late = ended_at is not None and (_keeps(evidence) or clock() - ended_at > LINGER)
            for row in found:
                self._tend(row, evidence, first=first, last=late)
            there = {row.pod.metadata.uid for row in found if row.pod}
            busy = {
                t.task for uid, t in self._tails.items() if t.task and t.busy and (uid in there or not late)
            }
            if ended_at is not None and not busy and all(self._told(row, late=late) for row in found):
                return
            if evidence is None:
                # Nobody will look again: what is still being read is all there will be.
                await asyncio.wait(busy, timeout=LINGER)
                return
            first = False

    def _tend(self, row: Row, evidence: Evidence | None, *, first: bool, last: bool) -> None:
        """Reads on where the member has written something since."""
        own = _container(row, self._ask)
        if own is None or row.pod is None or evidence is None:
            return
        tail = self._tail(row, row.pod.metadata.uid, own, first=first)
        if last and own.state.running and not tail.told(own, last=True):
            tail.stop()
        if not tail.busy and not tail.told(own, last=last):
            tail.final = last or not own.state.running
            tail.task = asyncio.create_task(self._read(tail, row, own, evidence.job.namespace, last=last))

    def _tail(self, row: Row, uid: str, own: Container, *, first: bool) -> _Tail:
        if uid not in self._tails:
            before = [tail for tail in self._tails.values() if tail.member == row.name]
            # Of a pod that was there before we came, what it wrote before its last start is not asked for.
            closed = own.restart_count - 1 if first else -1
            replaced = max((tail.base + tail.begun + 1 for tail in before), default=0)
            self._tails[uid] = _Tail(row.name, base=replaced, closed=closed)
        return self._tails[uid]

    async def _read(self, tail: _Tail, row: Row, own: Container, namespace: str, *, last: bool) -> None:
        try:
            if own.restart_count > 0 and tail.closed < own.restart_count - 1:
                await self._pass_on(tail, row, own.restart_count - 1, namespace, previous="true")
                tail.closed = own.restart_count - 1
            if _has_log(own, self._ask):
                follow = {"follow": "true"} if own.state.running and not last else {}
                await self._pass_on(tail, row, own.restart_count, namespace, **follow)
                if not own.state.running or last:
                    tail.closed = own.restart_count
        except Gone:
            tail.closed = own.restart_count
        except ApiError as error:
            if last:
                tail.closed = own.restart_count  # there will not be another try
            if _forbidden(error):
                await self._lines.put(error)
            elif last or not isinstance(error, Refused):
                # Refused: it has not started yet, or has just ended. The next look tells.
                self._complain(Trouble(row.name, str(error)))

    async def _pass_on(self, tail: _Tail, row: Row, attempt: int, namespace: str, **more: str) -> None:
        query = self._ask.query(**more)
        if tail.last:
            query = {key: query[key] for key in query if key not in ("sinceSeconds", "tailLines")}
            query["sinceTime"] = tail.last
        again, tail.begun = tail.same, max(tail.begun, attempt)
        async with aclosing(self._api.lines(PODS, namespace, row.pod_name, "log", query)) as lines:
            async for text in lines:
                line = _line(row, tail.base + attempt, text)
                if line.time < tail.last:
                    continue
                if line.time == tail.last and again:
                    again -= 1
                    continue
                tail.same = tail.same + 1 if line.time == tail.last else 1
                tail.last = line.time
                await self._lines.put(line)

    def _told(self, row: Row, *, late: bool) -> bool:
        own = _container(row, self._ask)
        if own is None or row.pod is None:
            return True
        tail = self._tails.get(row.pod.metadata.uid)
        return tail is not None and not tail.busy and tail.told(own, last=late)

    def _complain(self, trouble: Trouble) -> None:
        if trouble not in self._complained:
            self._complained.add(trouble)
            self._troubled(trouble)


class _Tail:
    """How far the log of one pod has been told."""

    def __init__(self, member: str, *, base: int, closed: int) -> None:
        self.member, self.base, self.begun, self.closed = member, base, closed, closed
        """`base`: attempts of the pods that it replaces. `begun` and `closed`: the last start that has been told, and
        the last that has been told to its end."""
        self.last, self.same = "", 0
        """The time of the last line, and how many lines of that very time there were."""
        self.task: asyncio.Task[None] | None = None
        self.final = False
        """The task does not follow: it will end by itself."""

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.done()

    def stop(self) -> None:
        """Whatever it follows goes on without us."""
        if self.task and not self.final:
            self.task.cancel()
            self.task = None

    def told(self, own: Container, *, last: bool) -> bool:
        """Nothing can be had beyond what has been told."""
        if own.state.running and not last:
            return False
        started = own.state.running or own.ended
        return self.closed >= (own.restart_count if started else own.restart_count - 1)


def _keeps(evidence: Evidence | None) -> bool:
    """What still runs when the job has ended is not going to be ended."""
    return evidence is not None and evidence.job.policy.clean_pod_policy is CleanPodPolicy.NONE


def _container(row: Row, ask: Ask) -> Container | None:
    if row.pod is None:
        return None
    return next((it for it in row.pod.containers if it.name == ask.container), None)


def _has_log(own: Container, ask: Ask) -> bool:
    if ask.previous:
        return own.restart_count > 0
    return bool(own.state.running or own.ended)


def _forbidden(error: ApiError) -> bool:
    """For one member as for all of them."""
    return isinstance(error, Refused) and error.code == 403


def _line(row: Row, attempt: int, text: str) -> Line:
    time, _, message = text.partition(" ")
    return Line(row.role, row.index, attempt, time, message)


def _moment(line: Line) -> datetime:
    try:
        return datetime.fromisoformat(line.time)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
