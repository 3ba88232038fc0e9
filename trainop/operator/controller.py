"""Watches, caches, queue and workers, wired together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from trainop.engine import gang, labels
from trainop.errors import ApiError, Deposed, Temporary
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.caches import Caches
from trainop.kube.cluster import Cluster, pod_groups, wall_clock
from trainop.kube.follower import Follower
from trainop.kube.jobs import Jobs
from trainop.kube.jobwatch import JobWatch
from trainop.kube.port import PODS, SERVICES, Api
from trainop.kube.recorder import Recorder
from trainop.model import DEFAULTS, GVK, Key, SeenPod, SeenPodGroup, SeenService, Settings, Topology
from trainop.operator.lease import Lease
from trainop.operator.metrics import Metrics
from trainop.operator.queue import WorkQueue
from trainop.operator.transitions import Transitions
from trainop.reconcile import reconcile

AFTER_DEPOSED = 0.2
"""Seconds."""
LAST_WORDS = 1.0
"""Seconds for the passes under way, and again for the events, when the process is to end."""
log = logging.getLogger(__name__)


class Controller:
    def __init__(
        self,
        api: Api,
        frameworks: Mapping[GVK, Framework[Any]],
        *,
        namespaces: Collection[str] = (),
        settings: Settings = DEFAULTS,
        workers: int = 16,
        metrics: Metrics | None = None,
        lease: Lease | None = None,
        writer: Api | None = None,
        placed: Callable[[Topology], Topology] = lambda members: members,
        puzzled: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        """No namespaces: all of them. No lease: this process leads, and no other must be there. `writer`: by which jobs
        are worked on, and nothing is written without the lease; none: by `api`. `placed`: where members are reached,
        where that is not by the names of their services. `puzzled` hears of what nobody expects, and what is logged
        and tried again."""
        self._frameworks, self._workers, self._puzzled = frameworks, workers, puzzled
        self.metrics, self._lease = metrics or Metrics(), lease
        self.queue = WorkQueue(share=max(1, workers // 2))
        self.jobs = Jobs()
        self._leading = asyncio.Event()
        self._led_since = 0.0
        if lease:
            lease.tell = self._lead
        ours = f"{labels.OPERATOR_NAME} in ({','.join(sorted({f.controller for f in frameworks.values()}))})"
        failed = self.metrics.watch_failed
        self._job_watches = [
            JobWatch(
                api,
                gvk,
                framework.plural,
                self.jobs,
                namespace=namespace,
                wake=self.queue.add,
                gone=self.queue.forget,
                failed=failed,
            )
            for gvk, framework in frameworks.items()
            for namespace in (namespaces or (None,))
        ]
        cached = partial(Caches, api, namespaces=namespaces, wake=self._wake, failed=failed)
        pods: Caches[SeenPod] = cached(PODS, wire.Pod, selector=ours)
        services: Caches[SeenService] = cached(SERVICES, wire.Service, selector=ours)
        groups: Caches[SeenPodGroup] | None = None
        if scheduler := gang.scheduler(settings):
            # They carry no labels, so all of them are watched.
            groups = cached(pod_groups(scheduler), wire.PodGroup, selector="")
        self._cluster = Cluster(
            writer or api,
            self.jobs,
            pods,
            services,
            Recorder(api, wall_clock, dropped=self.metrics.events_dropped.inc),
            groups,
            settings,
            listener=Transitions(self.metrics),
            placed=placed,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Caches filled, workers at work. When the block is left, what is under way is finished, and the lease
        given back."""
        cluster = self._cluster
        async with asyncio.TaskGroup() as group:
            parts = (
                cluster.pods, cluster.services, cluster.pod_groups, *self._job_watches, cluster.recorder, self._lease,
            )  # fmt: skip
            background = [group.create_task(part.run()) for part in parts if part is not None]
            try:
                await self._filled()
                background += [group.create_task(self._work()) for _ in range(self._workers)]
                if not self._lease:
                    self._lead(True)
                yield
            finally:
                self._leading.clear()
                await _at_most(LAST_WORDS, self.queue.rest(), "some passes were cut short")
                if self._lease:
                    await self._lease.release()
                await _at_most(LAST_WORDS, cluster.recorder.drained(), "some events could not be told")
                for task in background:
                    task.cancel()

    async def _filled(self) -> None:
        await self._cluster.pods.filled()
        await self._cluster.services.filled()
        for cache in self._cluster.pod_groups or ():
            await cache.answered.wait()

    def watches(self) -> Iterator[Follower[Any]]:
        for kind in (self._cluster.pods, self._cluster.services, self._cluster.pod_groups):
            yield from kind or ()
        yield from self._job_watches

    def measure(self) -> None:
        """Write down what is known only when someone asks."""
        metrics, now = self.metrics, asyncio.get_running_loop().time()
        # Of one that follows nobody waits for anything; what has come to its queue it would begin with.
        leads = self._leading.is_set()
        metrics.queue_depth.set(len(self.queue) if leads else 0)
        metrics.queue_oldest.set(min(self.queue.oldest, now - self._led_since) if leads else 0)
        metrics.cache_objects.labels("jobs").set(len(self.jobs))
        for kind in (self._cluster.pods, self._cluster.services, self._cluster.pod_groups):
            if kind is not None:
                metrics.cache_objects.labels(kind.resource.plural).set(sum(map(len, kind)))
        heard: dict[str, float] = {}
        for watch in self.watches():
            heard[watch.resource.plural] = min(watch.last_heard, heard.get(watch.resource.plural, now))
        for plural, last in heard.items():
            metrics.cache_age.labels(plural).set(now - last)

    def unfilled(self) -> Iterator[str]:
        """What is not known yet, or any more, a sentence each."""
        for watch in (*self._cluster.pods, *self._cluster.services, *self._job_watches):
            if not watch.synced.is_set():
                yield f"{watch.where} have not been listed yet{watch.refusal and ': ' + watch.refusal}"

    @property
    def settled(self) -> bool:
        """Nothing is left to do or to write, but for wake-ups that the clock will bring."""
        return self.queue.idle and not self.queue.failing and self.jobs.settled

    def _lead(self, leading: bool) -> None:
        self.metrics.leader.set(leading)
        if not leading:
            self._leading.clear()
            return
        for key in self.jobs:
            self.queue.add(key)
        self._led_since = asyncio.get_running_loop().time()
        self._leading.set()

    def _wake(self, key: Key) -> None:
        """A child of the job has changed; what is not known needs no pass."""
        if self.jobs.get(key) is not None:
            self.queue.add_soon(key)

    async def _work(self) -> None:
        while True:
            await self._leading.wait()
            key = await self.queue.get()
            try:
                if self._leading.is_set():
                    await self._one_pass(key)
                else:
                    self.queue.add(key)
            finally:
                self.queue.done(key)

    async def _one_pass(self, key: Key) -> None:
        started, result = time.monotonic(), "error"
        try:
            # What is not seen would be made again.
            self._cluster.pods.check(key.namespace)
            self._cluster.services.check(key.namespace)
            wake_after = await reconcile(key, self._frameworks[key.gvk], self._cluster)
        except Deposed:
            # Not at once: the lease needs the loop to find out who leads.
            result = "deposed"
            self.queue.add_after(key, AFTER_DEPOSED)
        except Temporary as error:
            result = "retry"
            patience = error.retry_after if isinstance(error, ApiError) else None
            wait = self.queue.retry(key, at_least=patience or 0.0)
            log.info("%s: trying again in %.1f s: %s", key, wait, error)
        except Exception as error:
            # A mistake in one job must not stop the others, be it ours or that of a framework.
            self._puzzled(error)
            log.exception("%s: trying again in %.1f s after an error", key, self.queue.retry(key))
        else:
            result = "done"
            self.queue.succeeded(key)
            if wake_after is not None:
                self.queue.add_after(key, wake_after)
        finally:
            self.metrics.reconcile.observe(time.monotonic() - started, key.gvk.kind, result)


async def _at_most(seconds: float, wait: Awaitable[None], otherwise: str) -> None:
    try:
        await asyncio.wait_for(wait, seconds)
    except TimeoutError:
        log.warning("%s", otherwise)


def only(frameworks: Mapping[GVK, Framework[Any]], kinds: Collection[str]) -> dict[GVK, Framework[Any]]:
    """The frameworks of these kinds, as KIND or KIND.GROUP in any letter case; all of them when none is named."""
    return {gvk: f for gvk, f in frameworks.items() if not kinds or any(map(gvk.is_called, kinds))}
