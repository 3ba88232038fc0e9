"""Caches, queue and workers, wired together: everything of the process that kopf does not do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from trainop.engine import gang, labels
from trainop.errors import ApiError, Temporary
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.cache import Cache
from trainop.kube.cluster import Cluster, pod_groups, wall_clock
from trainop.kube.jobs import Jobs
from trainop.kube.port import PODS, SERVICES, Api
from trainop.kube.recorder import Recorder
from trainop.model import DEFAULTS, GVK, Key, SeenPodGroup, Settings
from trainop.operator.queue import WorkQueue
from trainop.reconcile import reconcile

log = logging.getLogger(__name__)


class Controller:
    def __init__(
        self,
        api: Api,
        frameworks: Mapping[GVK, Framework[Any]],
        *,
        namespace: str | None = None,
        settings: Settings = DEFAULTS,
        workers: int = 16,
    ) -> None:
        self._frameworks, self._workers = frameworks, workers
        self.queue = WorkQueue()
        self.jobs = Jobs()
        ours = f"{labels.OPERATOR_NAME} in ({','.join(sorted(f.controller for f in frameworks.values()))})"
        self._pods = Cache(api, PODS, wire.Pod, selector=ours, namespace=namespace, wake=self._wake)
        self._services = Cache(
            api, SERVICES, wire.Service, selector=ours, namespace=namespace, wake=self._wake
        )
        self._pod_groups: Cache[SeenPodGroup] | None = None
        if scheduler := gang.scheduler(settings):
            # They carry no labels, so all of them are watched.
            self._pod_groups = Cache(
                api, pod_groups(scheduler), wire.PodGroup, selector="", namespace=namespace, wake=self._wake
            )
        self._recorder = Recorder(api, wall_clock)
        self._cluster = Cluster(
            api, self.jobs, self._pods, self._services, self._recorder, self._pod_groups, settings
        )

    def job_seen(self, framework: Framework[Any], raw: Mapping[str, Any], *, deleted: bool = False) -> None:
        """What the watch on jobs says. All that is kept of it is the object and a key to look at."""
        metadata = raw["metadata"]
        key = Key(framework.gvk, metadata["namespace"], metadata["name"])
        if deleted:
            self.jobs.drop(key, metadata["uid"])
            self.queue.forget(key)
        elif self.jobs.put(key, raw):
            self.queue.add(key)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Caches filled, workers at work; until the block is left, when the events on the way are still told."""
        async with asyncio.TaskGroup() as group:
            parts = (self._pods, self._services, self._recorder, self._pod_groups)
            background = [group.create_task(part.run()) for part in parts if part is not None]
            await self._pods.synced.wait()
            await self._services.synced.wait()
            if self._pod_groups is not None:
                await self._pod_groups.answered.wait()
            background += [group.create_task(self._work()) for _ in range(self._workers)]
            try:
                yield
            finally:
                await _at_most(2.0, self._recorder.drained())
                for task in background:
                    task.cancel()

    def _wake(self, key: Key) -> None:
        if key.gvk in self._frameworks:
            self.queue.add(key)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._one_pass(key)
            finally:
                self.queue.done(key)

    async def _one_pass(self, key: Key) -> None:
        try:
            wake_after = await reconcile(key, self._frameworks[key.gvk], self._cluster)
        except Temporary as error:
            patience = error.retry_after if isinstance(error, ApiError) else None
            wait = self.queue.retry(key, at_least=patience or 0.0)
            log.info("%s: trying again in %.1f s: %s", key, wait, error)
        except Exception:
            # A mistake of ours in one job must not stop the others.
            log.exception("%s: trying again in %.1f s after an error in trainop", key, self.queue.retry(key))
        else:
            self.queue.succeeded(key)
            if wake_after is not None:
                self.queue.add_after(key, wake_after)


async def _at_most(seconds: float, wait: Any) -> None:
    try:
        await asyncio.wait_for(wait, seconds)
    except TimeoutError:
        log.warning("some events could not be told in time")


def only(frameworks: Mapping[GVK, Framework[Any]], kinds: Collection[str]) -> dict[GVK, Framework[Any]]:
    """The frameworks of these kinds, in any letter case; all of them when none is named."""
    wanted = {kind.lower() for kind in kinds}
    return {gvk: f for gvk, f in frameworks.items() if not wanted or gvk.kind.lower() in wanted}
