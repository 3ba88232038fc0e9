"""The third stage: the node of `trainop run`, where every member is a real process that ends as it is told."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.kubelet import Kubelet
from tests.scenarios import puppet
from trainop.errors import Gone
from trainop.framework import Framework
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Api, Raw, Resource
from trainop.local.folder import Folder
from trainop.local.guard import guarded
from trainop.local.node import Node
from trainop.local.options import Options
from trainop.local.ports import Ports
from trainop.operator.controller import Controller

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds."""

# What cannot be played with real processes on one machine, and why. Of the modules that are not named at all, every
# test is played.
_BY_HAND = "it writes what a kubelet would write; here the node does, and only what has happened"
_NO_CLUSTER = "nobody evicts pods, grants quotas or schedules gangs on one machine"
_ADDRESSES = "members are reached by addresses of this machine: tests/local looks at those"
_TOO_FAST = "members start at once, so that the job has left that state before anyone has looked"
_ALONE = "operator and node are one process, so that one is not there without the other"
NOT_HERE = {
    "test_blocked": _NO_CLUSTER,
    "test_gang": _NO_CLUSTER,
    "test_told": _BY_HAND,
    "test_children": _ADDRESSES,
    "test_render": _ADDRESSES,
    "test_a_native_sidecar_never_decides": _BY_HAND,
    "test_success_of_the_deciding_role_comes_first_and_the_end_is_final": _BY_HAND,
    "test_a_name_taken_by_something_else_is_told_and_mended_by_removing_it": _TOO_FAST,
    "test_a_job_takes_its_children_along_in_every_state[processes-restarting]": _TOO_FAST,
    "test_a_job_takes_its_children_along_in_every_state[processes-blocked]": _TOO_FAST,
    "test_an_evicted_pod_is_replaced_and_not_counted": _NO_CLUSTER,
    "test_an_evicted_pod_fails_the_job_under_never": _NO_CLUSTER,
    "test_a_tensorboard_that_ends_is_replaced_also_after_the_job": _NO_CLUSTER,
    "test_a_tensorboard_of_2017_that_is_lost_is_replaced_also_after_the_job": _NO_CLUSTER,
    "test_a_child_that_cannot_be_made_is_told_in_the_words_of_then": _TOO_FAST,
    "test_a_deadline_that_passes_while_no_operator_is_there_is_found_by_the_next": _ALONE,
    "test_a_deadline_goes_on_when_the_operator_is_restarted": _ALONE,
    "test_a_time_to_live_goes_on_when_the_operator_is_restarted": _ALONE,
}
"""By module or test."""


def left_out(item: pytest.Item) -> bool:
    """Whether it is a test that would be played with processes and cannot be."""
    if not isinstance(item, pytest.Function) or "[processes" not in item.name:
        return False
    return bool({item.name, item.originalname, item.module.__name__.rpartition(".")[2]} & NOT_HERE.keys())


class Scripted(Memory):
    """Every container of a job that says nothing of a command runs a puppet."""

    def __init__(self, command: list[str]) -> None:
        super().__init__()
        self._command = command

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        if what == PODS:
            spec = {**body["spec"]}
            for field in {"initContainers", "containers"} & spec.keys():
                spec[field] = [{"command": self._command, **container} for container in spec[field]]
            body = {**body, "spec": spec}
        return await super().create(what, namespace, body, shape)


class Processes(Kubelet):
    """Has no say in what a pod's status is: it makes the processes end, and waits for what comes of it."""

    def __init__(self, api: Api, namespace: str, *, folder: Folder, orders: Path) -> None:
        super().__init__(api, namespace)
        self._folder, self._orders = folder, orders

    async def run(self, name: str, *, restarts: int = 0) -> None:
        await self._until(name, _ready)
        for number in range(await self._restarts(name), restarts):
            await self._order(name, {_names(await self._pod(name))[0]: 1})
            await self._until(name, partial(_restarted, times=number + 1), or_gone=True)

    async def exit(self, name: str, code: int = 0, *, sidecars: int = 0) -> None:
        await self.run(name)
        pod = await self._pod(name)
        first, *others = _names(pod)
        await self._order(name, {first: code, **dict.fromkeys(others, sidecars)})
        uid = pod["metadata"]["uid"]
        await self._until(
            name,
            lambda pod: pod["metadata"]["uid"] != uid or pod["status"]["phase"] in ("Succeeded", "Failed"),
            or_gone=True,
        )

    async def _order(self, name: str, codes: Mapping[str, int]) -> None:
        for container, code in codes.items():
            pid = self._folder.pid(name, container).read_text().strip()
            half = self._orders / f"{pid}.half"
            half.write_text(str(code))
            half.replace(self._orders / pid)

    async def _pod(self, name: str) -> Raw:
        return await self._api.get(PODS, self._namespace, name, dict)

    async def _restarts(self, name: str) -> int:
        return int((await self._pod(name))["status"]["containerStatuses"][0]["restartCount"])

    async def _until(self, name: str, holds: Callable[[Raw], bool], *, or_gone: bool = False) -> None:
        """`or_gone`: the pod may have been taken away for what has happened."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if holds(await self._pod(name)):
                        return
                except Gone:
                    if or_gone:
                        return
                await asyncio.sleep(0.02)


def _names(pod: Raw) -> list[str]:
    return [container["name"] for container in pod["spec"]["containers"]]


def _ready(pod: Raw) -> bool:
    """Not one that is on its way out: another takes its place."""
    if "deletionTimestamp" in pod["metadata"] or pod["status"]["phase"] != "Running":
        return False
    return all(container["ready"] for container in pod["status"]["containerStatuses"])


def _restarted(pod: Raw, *, times: int) -> bool:
    first = pod["status"]["containerStatuses"][0]
    return bool(first["restartCount"] >= times and first["ready"])


@asynccontextmanager
async def as_processes(
    known: Mapping[str, Framework[Any]], path: Path
) -> AsyncIterator[tuple[Memory, Callable[[Api, str], Kubelet]]]:
    """The parts of `trainop run`, with all frameworks at once; and who makes its processes end."""
    orders, ports, run = path / "orders", Ports(), secrets.token_hex(8)
    command = [sys.executable, "-I", "-S", puppet.__file__, str(orders)]
    options, folder = Options(env={"PATH": _with_a_tensorboard(path, command)}), Folder(path / "run")
    orders.mkdir()
    memory = Scripted(command)
    controller = Controller(memory, {f.gvk: f for f in known.values()}, placed=ports.placed)
    node = Node(memory, run, folder, options)
    async with guarded(run, folder.pids):
        async with controller.running():
            work = asyncio.create_task(node.run())
            yield memory, partial(Processes, folder=folder, orders=orders)
            work.cancel()
        await node.close()
        ports.close()


def _with_a_tensorboard(path: Path, command: list[str]) -> str:
    """Whose command a job does not choose."""
    program = path / "bin" / "tensorboard"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {' '.join(command)}\n")
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"
