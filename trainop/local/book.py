"""What was seen of a job, its pods, services and events: also of those that are gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.port import EVENTS, PODS, SERVICES, Api, Raw, Resource
from trainop.local.changes import changes

Heard = Callable[[Resource, Raw | None, Raw], None]
"""Of what kind, how it was before, and how it is now."""


class Book:
    def __init__(self, framework: Framework[Any], heard: Heard = lambda what, old, new: None) -> None:
        self.framework, self.jobs = framework, resource(framework)
        self.gone = False
        """The job was deleted: its time to live was over."""
        self.pods: dict[str, Raw] = {}
        self.services: dict[str, Raw] = {}
        self.events: dict[str, Raw] = {}
        self._job: dict[str, Raw] = {}
        self._pages = {PODS: self.pods, SERVICES: self.services, EVENTS: self.events, self.jobs: self._job}
        self.replaced: Counter[str] = Counter()
        """How often the containers of earlier pods of that name were started again, and those pods replaced."""
        self.before: dict[str, Raw] = {}
        """The pods that stood in the place of those in `pods` the time before."""
        self.changed = asyncio.Event()
        self._heard = heard

    async def write(self, api: Api) -> None:
        """All that happens, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for what in (self.jobs, PODS, SERVICES, EVENTS):
                group.create_task(self._follow(api, what))

    @property
    def job(self) -> Raw:
        """Empty until it is submitted."""
        return next(iter(self._job.values()), {})

    @property
    def state(self) -> Raw:
        """The newest condition of the job."""
        conditions = (self.job.get("status") or {}).get("conditions") or [{}]
        newest: Raw = conditions[-1]
        return newest

    @property
    def finished(self) -> bool:
        return self.state.get("type") in ("Succeeded", "Failed")

    def newest_events(self, number: int) -> list[Raw]:
        return sorted(self.events.values(), key=_age)[-number:]

    def whole(self) -> Raw:
        """As it is stored in a run's folder."""
        return {
            "job": self.job,
            "pods": list(self.pods.values()),
            "services": list(self.services.values()),
            "events": sorted(self.events.values(), key=_age),
        }

    async def catch_up(self, api: Api) -> None:
        """What is there now, when nobody writes any more."""
        for what in (PODS, SERVICES, EVENTS, self.jobs):
            for item in (await api.list(what, dict[str, Any])).items:
                self._put(what, item)

    async def _follow(self, api: Api, what: Resource) -> None:
        async for change in changes(api, what):
            self.gone |= what == self.jobs and change.type == "DELETED"
            self._put(what, change.object)

    def _put(self, what: Resource, new: Raw) -> None:
        page = self._pages[what]
        name = new["metadata"]["name"]
        old = page.get(name)
        if old == new:
            return
        page[name] = new
        if what == PODS and old and old["metadata"]["uid"] != new["metadata"]["uid"]:
            self.replaced[name] += 1 + restarts(old)
            self.before[name] = old
        self.changed.set()
        self._heard(what, old, new)


def restarts(pod: Raw) -> int:
    """In place."""
    return sum(c.get("restartCount", 0) for c in pod["status"].get("containerStatuses") or ())


def _age(item: Raw) -> int:
    return int(item["metadata"]["resourceVersion"])
