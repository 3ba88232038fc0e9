"""Several namespaces, of which one is closed to the operator; and a replica that waits for its turn. In memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tests.builders import TF, a_manifest
from trainop.errors import Refused
from trainop.kube.cluster import resource
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Listing, Resource
from trainop.operator.controller import Controller
from trainop.operator.health import LONGEST_SILENCE, Pulse, complaints
from trainop.operator.lease import Lease

T = TypeVar("T")


class Guarded(Memory):
    """Lets nobody list pods in some namespaces."""

    def __init__(self, *closed: str) -> None:
        super().__init__()
        self.closed = set(closed)

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        if what == PODS and namespace in self.closed:
            raise Refused(f"pods of {namespace} are forbidden", code=403, reason="Forbidden")
        return await super().list(what, shape, namespace=namespace, selector=selector)


async def submit(api: Memory, namespace: str) -> None:
    await api.create(resource(TF), namespace, a_manifest(TF, Worker=2), dict)


def pods(api: Memory, namespace: str) -> int:
    return sum((what, where) == (PODS, namespace) for what, where, _ in api._objects)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - many things may bring it about
            await asyncio.sleep(0.01)


async def test_a_namespace_that_is_closed_to_the_operator_does_not_stop_the_others() -> None:
    api = Guarded("closed")
    for namespace in ("open", "closed"):
        await submit(api, namespace)
    controller = Controller(api, {TF.gvk: TF}, namespaces=("open", "closed"))
    async with controller.running():
        await until(lambda: pods(api, "open"))
        assert list(controller.unfilled()) == [
            "pods of closed have not been listed yet: pods of closed are forbidden"
        ]
        await until(lambda: controller.queue.failing)
        assert pods(api, "closed") == 0
        api.closed.clear()
        await until(lambda: pods(api, "closed"))
        await until(lambda: controller.settled)
        assert list(controller.unfilled()) == []
        assert pods(api, "open") == pods(api, "closed") == 2


async def test_the_only_namespace_is_waited_for() -> None:
    api, served = Guarded("closed"), asyncio.Event()
    controller = Controller(api, {TF.gvk: TF}, namespaces=("closed",))

    async def serve() -> None:
        async with controller.running():
            served.set()
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve())
    await until(lambda: any(watch.refusal for watch in controller.watches()))
    assert not served.is_set()
    api.closed.clear()
    await asyncio.wait_for(served.wait(), 60)
    serving.cancel()


async def test_who_is_told_no_is_not_restarted_for_it() -> None:
    api = Guarded()
    controller = Controller(api, {TF.gvk: TF}, namespaces=("open", "closed"))
    async with controller.running():
        for watch in controller.watches():
            watch.last_heard -= LONGEST_SILENCE + 1
        assert len(list(complaints(controller, Pulse(), None))) == len(list(controller.watches()))
        api.closed.add("closed")
        await api.forget_history()
        (refused,) = [w for w in controller.watches() if w.where == "pods of closed"]
        await until(lambda: refused.refusal)
        refused.last_heard -= 2 * LONGEST_SILENCE
        assert not [it for it in complaints(controller, Pulse(), None) if refused.where in it]
        api.closed.clear()
        await until(lambda: not refused.refusal)


async def test_for_a_replica_that_does_not_lead_nobody_waits() -> None:
    api = Memory()
    leader, lease = (Lease(api, "default", "trainop", name) for name in ("first", "second"))
    await leader._turn()
    controller = Controller(api, {TF.gvk: TF}, lease=lease)

    def waiting() -> tuple[float, float]:
        """How many jobs, and for how long, as its page says it."""
        controller.measure()
        page = {
            sample.name: sample.value
            for it in controller.metrics._registry.collect()
            for sample in it.samples
        }
        return page["trainop_queue_depth"], page["trainop_queue_oldest_seconds"]

    async with controller.running():
        await submit(api, "team")
        await until(lambda: len(controller.queue))
        for key in controller.queue._queued:
            controller.queue._queued[key] -= 3600
        assert waiting() == (0, 0)
        controller._lead(True)
        depth, oldest = waiting()
        assert depth == 1
        assert oldest < 60
