"""Events on users' jobs: off the critical path, bounded, and counted instead of repeated."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from trainop.api.base import rfc3339
from trainop.errors import ApiError, Exists
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.port import EVENTS, Api, Raw
from trainop.model import Event, Job

MOST_WAITING = 10_000
LONGEST = 1_024
AT_ONCE = 16
A_MOMENT = 0.25
"""Seconds for which events wait for others, until there are enough: together they are cheaper to send."""
QUIET = timedelta(minutes=10)
"""How long a story is not told again."""
MOST_REMEMBERED = 10_000
"""Stories. One that is forgotten is told once more than needed, and counted."""
log = logging.getLogger(__name__)


class Recorder:
    def __init__(
        self,
        api: Api,
        clock: Callable[[], datetime],
        room: int = MOST_WAITING,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """`dropped` is called for each event that nobody will be told of: it found no room, or was refused."""
        self._api, self._clock, self._dropped = api, clock, dropped
        self._waiting: asyncio.Queue[Raw] = asyncio.Queue(room)
        self._told: dict[str, datetime] = {}
        """When each story was told last; the one that was asked for last stands last."""

    def tell(self, framework: Framework[Any], job: Job[Any], events: Iterable[Event]) -> None:
        """Never waits and never fails: a job does not depend on who hears of it."""
        about = None
        for event in events:
            message = _printable(event.message)
            name = _name(job, event, message)
            if event.story and not self._is_news(name):
                continue
            try:
                about = about or self._about(framework, job)
                self._waiting.put_nowait(_body(framework, event, name, message, about))
            except asyncio.QueueFull:
                self._dropped()
                log.warning(
                    "events are told faster than the API server takes them; dropped one of %s", job.key
                )

    def _is_news(self, name: str) -> bool:
        now, told = self._clock(), self._told.pop(name, None)
        news = told is None or now - told >= QUIET
        self._told[name] = told if told is not None and not news else now
        if len(self._told) > MOST_REMEMBERED:
            del self._told[next(iter(self._told))]
        return news

    async def run(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            if len(batch) + self._waiting.qsize() < AT_ONCE:
                await asyncio.sleep(A_MOMENT)
            while len(batch) < AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            alike: dict[str, list[Raw]] = {}
            for body in batch:
                alike.setdefault(body["metadata"]["name"], []).append(body)
            await asyncio.gather(*map(self._record, alike.values()))

    async def _record(self, alike: Iterable[Raw]) -> None:
        """One after another, or they would not be counted."""
        for body in alike:
            try:
                await self._post(body)
            except ApiError as error:
                name = body["metadata"]["name"]
                self._told.pop(name, None)  # the next time it is news
                self._dropped()
                log.warning("event %s not recorded: %s", name, error)
            finally:
                self._waiting.task_done()

    async def drained(self) -> None:
        await self._waiting.join()

    async def _post(self, body: Raw) -> None:
        """The name says what happened to whom, so the same event again is found and counted, also by another
        process that does not remember the first."""
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            await self._api.create(EVENTS, namespace, body, wire.Service)
        except Exists:
            again = {field: body[field] for field in ("message", "lastTimestamp")}
            # The answer to a patch tells the count; to get events would be one more right to ask for.
            known = await self._api.patch(EVENTS, namespace, name, again, dict)
            count = int(known.get("count") or 1) + 1
            await self._api.patch(EVENTS, namespace, name, {"count": count}, dict)

    def _about(self, framework: Framework[Any], job: Job[Any]) -> Raw:
        """What all events that are told of a job at once have in common."""
        now, namespace = rfc3339(self._clock()), job.namespace
        source = framework.manner.source or framework.controller
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {
                "apiVersion": framework.gvk.api_version,
                "kind": framework.kind,
                "namespace": namespace,
                "name": job.name,
                "uid": job.uid,
                "resourceVersion": job.resource_version,
            },
            "source": {"component": source},
            "reportingComponent": source,
            "reportingInstance": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def _body(framework: Framework[Any], event: Event, name: str, message: str, about: Raw) -> Raw:
    return {
        **about,
        "metadata": {"name": name, "namespace": about["involvedObject"]["namespace"]},
        "type": event.type,
        "reason": _printable(framework.manner.reason(event.reason)),
        "message": message,
    }


def _name(job: Job[Any], event: Event, message: str) -> str:
    """The same for what is the same event, or the same story in other words."""
    what = "\n".join((job.uid, event.type, event.reason, event.story or message))
    return f"{job.name}.{hashlib.blake2b(what.encode(), digest_size=8).hexdigest()}"


def _printable(message: str) -> str:
    """Without control characters, and no longer than the API server takes."""
    clean = message if message.isprintable() else "".join(c if c.isprintable() else " " for c in message)
    while len(clean.encode()) > LONGEST:
        clean = clean[: len(clean) - max(1, (len(clean.encode()) - LONGEST) // 4) - 1] + "…"
    return clean
