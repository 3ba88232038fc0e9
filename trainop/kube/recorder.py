"""Events on users' jobs: off the critical path, bounded, and counted instead of repeated."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from trainop.api.base import rfc3339
from trainop.errors import ApiError, Exists
from trainop.framework import Framework
from trainop.kube.port import EVENTS, Api, Raw
from trainop.model import Event, Job

MOST_WAITING = 10_000
LONGEST = 1_024
log = logging.getLogger(__name__)


class Recorder:
    def __init__(self, api: Api, clock: Callable[[], datetime], room: int = MOST_WAITING) -> None:
        self._api, self._clock = api, clock
        self._waiting: asyncio.Queue[tuple[str, Raw]] = asyncio.Queue(room)

    def tell(self, framework: Framework[Any], job: Job[Any], events: Iterable[Event]) -> None:
        """Never waits and never fails: a job does not depend on who hears of it."""
        for event in events:
            try:
                self._waiting.put_nowait((job.namespace, self._body(framework, job, event)))
            except asyncio.QueueFull:
                log.warning(
                    "events are told faster than the API server takes them; dropped one of %s", job.key
                )

    async def run(self) -> None:
        while True:
            namespace, body = await self._waiting.get()
            try:
                await self._post(namespace, body)
            except ApiError as error:
                log.warning("event %s not recorded: %s", body["metadata"]["name"], error)
            finally:
                self._waiting.task_done()

    async def drained(self) -> None:
        await self._waiting.join()

    async def _post(self, namespace: str, body: Raw) -> None:
        """The name says what happened to whom, so the same event again is found and counted, also by another
        process that does not remember the first."""
        try:
            await self._api.create(EVENTS, namespace, body, dict)
        except Exists:
            name = body["metadata"]["name"]
            known = await self._api.get(EVENTS, namespace, name, dict)
            again = {"count": int(known.get("count") or 1) + 1, "lastTimestamp": body["lastTimestamp"]}
            await self._api.patch(EVENTS, namespace, name, again, dict)

    def _body(self, framework: Framework[Any], job: Job[Any], event: Event) -> Raw:
        now, message = rfc3339(self._clock()), _printable(event.message)
        digest = hashlib.blake2b(
            "\n".join((job.uid, event.type, event.reason, message)).encode(), digest_size=8
        ).hexdigest()
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{job.name}.{digest}", "namespace": job.namespace},
            "involvedObject": {
                "apiVersion": framework.gvk.api_version,
                "kind": framework.kind,
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
                "resourceVersion": job.resource_version,
            },
            "type": event.type,
            "reason": event.reason,
            "message": message,
            "source": {"component": framework.controller},
            "reportingComponent": framework.controller,
            "reportingInstance": framework.controller,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def _printable(message: str) -> str:
    """Without control characters, and no longer than the API server takes."""
    clean = "".join(c if c.isprintable() else " " for c in message)
    while len(clean.encode()) > LONGEST:
        clean = clean[: len(clean) - max(1, (len(clean.encode()) - LONGEST) // 4) - 1] + "…"
    return clean
