"""The node: runs the pods that the API server has, and takes them away when they are deleted."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping

from trainop.errors import Conflict, Gone
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Raw
from trainop.local import volumes
from trainop.local.changes import changes
from trainop.local.folder import Folder
from trainop.local.options import Options
from trainop.local.pod import Pod
from trainop.local.recipe import NODE, Recipe, recipe

# What a person wants who looks at the log while it is written; the job may say otherwise.
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


class _Stay:
    """One pod on the node, from its scheduling to its removal."""

    def __init__(self, name: str) -> None:
        self.name, self.deleted = name, asyncio.Event()
        self.pod: Pod | None = None
        self.task: asyncio.Task[None] | None = None


class Node:
    def __init__(
        self,
        api: Memory,
        run: str,
        folder: Folder,
        options: Options,
        *,
        one_machine: Mapping[str, str] | None = None,
    ) -> None:
        """`run` marks its processes; `one_machine` is what members are told because they all run here."""
        self._api, self._run, self._folder, self._options = api, run, folder, options
        self._beneath = {**os.environ, **UNBUFFERED, **(one_machine or {})}
        self._stays: dict[str, _Stay] = {}
        self._closed = False

    async def run(self) -> None:
        """Until cancelled."""
        async for change in changes(self._api, PODS):
            self._see(change.object, deleted=change.type == "DELETED")

    async def close(self) -> None:
        """Stop all pods, as if each were deleted; what they were is left to be seen."""
        self._closed = True
        await asyncio.gather(*(self._stop(stay.pod) for stay in self._stays.values() if stay.pod))
        tasks = [stay.task for stay in self._stays.values() if stay.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill(self) -> None:
        for stay in self._stays.values():
            if stay.pod:
                stay.pod.kill()

    async def _stop(self, pod: Pod) -> None:
        if not pod.over:
            with contextlib.suppress(Gone, Conflict):
                await self._api.delete(PODS, pod.raw["metadata"]["namespace"], pod.name, pod.uid)
        await pod.stop()

    def _see(self, raw: Raw, *, deleted: bool) -> None:
        if self._closed:
            return
        uid, stay = raw["metadata"]["uid"], self._stays.get(raw["metadata"]["uid"])
        if deleted or raw["metadata"].get("deletionTimestamp"):
            if stay:
                stay.deleted.set()
        elif stay is None:
            stay = self._stays[uid] = _Stay(raw["metadata"]["name"])
            stay.task = asyncio.create_task(self._serve(raw, stay))

    async def _serve(self, raw: Raw, stay: _Stay) -> None:
        namespace, uid = raw["metadata"]["namespace"], raw["metadata"]["uid"]
        try:
            await self._after(stay)
            mine = {"metadata": {"uid": uid}, "spec": {"nodeName": NODE}}
            await self._api.patch(PODS, namespace, stay.name, mine, dict)
            if not self._closed:
                stay.pod = Pod(raw, self._run, self._folder, self._recipe, self._report)
                await stay.deleted.wait()
                await stay.pod.stop()
                await self._api.remove(PODS, namespace, stay.name, uid)
        except (Gone, Conflict):
            pass  # it was removed at once: by hand, or before it had a node
        finally:
            del self._stays[uid]

    async def _after(self, stay: _Stay) -> None:
        """One of the same name that is still on its way out has the same port and the same files."""
        older = [s.task for s in self._stays.values() if s.name == stay.name and s is not stay and s.task]
        if older:
            await asyncio.wait(older)

    def _recipe(self, pod: Raw, container: Raw) -> Recipe:
        here = self._options.mounts.beneath(volumes.places(pod, container, self._folder))
        return recipe(pod, container, self._options, here, self._beneath)

    async def _report(self, pod: Raw, status: Raw) -> None:
        metadata = pod["metadata"]
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        where = (PODS, metadata["namespace"], metadata["name"])
        with contextlib.suppress(Gone, Conflict):  # removed at once; the name may be another's by now
            await self._api.patch(*where, body, dict, subresource="status")
