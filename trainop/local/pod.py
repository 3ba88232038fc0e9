"""The life of one pod on this machine, as a kubelet leads it: init containers, containers, restarts, the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from trainop.kube.port import Raw
from trainop.local import podstatus, process
from trainop.local.folder import Folder
from trainop.local.podstatus import Container
from trainop.local.process import CannotStart, Process
from trainop.local.recipe import Recipe

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Seconds before a container is started again; twice as long each time."""
HEALTHY = 60.0
"""Seconds after which a container that ends is not called crashing any more."""
GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL, unless the pod names its own."""

Recipes = Callable[[Raw, Raw], Recipe]
Report = Callable[[Raw, Raw], Awaitable[None]]


class Pod:
    def __init__(self, raw: Raw, run: str, folder: Folder, recipes: Recipes, report: Report) -> None:
        """`recipes` says what to start for a container; `report` is told each new status."""
        self.raw = raw
        self.name, self.uid = str(raw["metadata"]["name"]), str(raw["metadata"]["uid"])
        self._run, self._folder, self._recipes, self._report = run, folder, recipes, report
        spec = raw["spec"]
        self._policy = str(spec.get("restartPolicy", "Always"))
        grace = spec.get("terminationGracePeriodSeconds")
        self._grace = float(grace) if isinstance(grace, int | float) else GRACE
        self._first = [Container(c) for c in spec.get("initContainers") or ()]
        self._members = [Container(c) for c in spec["containers"]]
        self._since = podstatus.now()
        self._processes: dict[str, Process] = {}
        self._stopping, self._at_once = asyncio.Event(), False
        self.over = False
        """Nothing of it runs, and nothing will."""
        self._life = asyncio.create_task(self._live())

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that did not help in time."""
        self._stopping.set()
        beside = {c.name for c in self._first if c.sidecar}
        for name, running in list(self._processes.items()):
            if name not in beside:  # they go when the others have gone
                running.terminate()
        await asyncio.wait([self._life], timeout=self._grace)
        self.kill()
        await self._life

    def kill(self) -> None:
        self._stopping.set()
        self._at_once = True
        for running in list(self._processes.values()):
            running.kill()

    async def _live(self) -> None:
        await self._tell()
        beside: list[asyncio.Task[None]] = []
        try:
            if await self._prepare(beside):
                for member in self._members:
                    member.state = {"waiting": {"reason": "ContainerCreating"}}
                await asyncio.gather(*(self._keep(c, self._again) for c in self._members))
        finally:
            await self._end_sidecars(beside)
            self.over = True
            await self._tell()

    async def _prepare(self, beside: list[asyncio.Task[None]]) -> bool:
        """One init container after the other; a sidecar has only to be started. False: the pod ends here."""
        for container in self._first:
            if container.sidecar:
                beside.append(asyncio.create_task(self._keep(container, lambda code: True)))
                await _either(beside[-1], container.begun.wait())
            else:
                await self._keep(container, lambda code: code != 0 and self._policy != "Never")
                if container.exit_code != 0:
                    return False
        return not self._stopping.is_set()

    def _again(self, code: int) -> bool:
        return self._policy == "Always" or (self._policy == "OnFailure" and code != 0)

    async def _keep(self, container: Container, again: Callable[[int], bool]) -> None:
        """Run it, and run it again as long as it is to be."""
        loop, pause = asyncio.get_running_loop(), SHORTEST_PAUSE
        while not self._stopping.is_set():
            began = loop.time()
            code = await self._once(container)
            await self._tell()
            if self._stopping.is_set() or not again(code):
                return
            if loop.time() - began > HEALTHY:
                pause = SHORTEST_PAUSE
            await self._back_off(container, pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _back_off(self, container: Container, pause: float) -> None:
        message = f"back-off {pause:g}s restarting failed container={container.name} pod={self.name}"
        container.waits("CrashLoopBackOff", message)
        await self._tell()
        await _either(self._stopping.wait(), asyncio.sleep(pause))
        if not self._stopping.is_set():
            container.restarts += 1

    async def _once(self, container: Container) -> int:
        try:
            running = await process.start(
                self._recipes(self.raw, container.spec),
                f"{self._run}/{self.name}/{container.name}/",
                self._log(container),
                self._folder.pid(self.name, container.name),
            )
        except (CannotStart, OSError) as error:  # OSError: its log or its volume cannot be made
            code = error.code if isinstance(error, CannotStart) else process.NOT_RUNNABLE
            container.ended(code, "StartError", str(error))
            return code
        self._processes[container.name] = running
        if self._stopping.is_set():
            running.kill() if self._at_once else running.terminate()
        container.runs()
        await self._tell()
        code = await running.wait()
        del self._processes[container.name]
        container.ended(code)
        return code

    async def _end_sidecars(self, beside: list[asyncio.Task[None]]) -> None:
        self._stopping.set()
        for running in self._processes.values():
            running.terminate()
        if beside:
            await asyncio.wait(beside, timeout=self._grace)
            for running in self._processes.values():
                running.kill()
            await asyncio.gather(*beside)

    def _log(self, container: Container) -> Path:
        return self._folder.next_log(self.name, container.name)

    async def _tell(self) -> None:
        told = podstatus.status(self._first, self._members, since=self._since, over=self.over)
        await self._report(self.raw, told)


async def _either(*waits: Awaitable[object]) -> None:
    """Until one of them is over. A task among them goes on."""
    futures = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    for future, wait in zip(futures, waits, strict=True):
        if future is not wait:
            future.cancel()
