"""Where a scenario plays: an API server, an operator that watches it, a kubelet that does as it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.kubelet import Kubelet
from trainop.errors import Gone
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.port import EVENTS, PODS, SERVICES, Api, Raw, Resource

PATIENCE = 60.0
"""Seconds. Generous: it only matters when something is broken."""


@dataclass(frozen=True)
class Cast:
    """A framework's part: a job of its kind that has a role which decides and one which serves."""

    framework: Framework[Any]
    replicas: Mapping[str, int]
    decider: str
    """The role whose members, all succeeded, make the job succeed."""
    server: str
    """A role that does not decide."""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.framework.kind

    def job(self, name: str, *, policy: Mapping[str, Any] | None = None, **roles: Mapping[str, Any]) -> Raw:
        """A job with the usual members; a role's keyword adds to that role's spec."""
        container = {"name": self.framework.container, "image": "example/train"}
        replicas: dict[str, Any] = {
            role: {
                "replicas": count,
                "template": {"spec": {"containers": [container]}},
                **roles.get(role, {}),
            }
            for role, count in self.replicas.items()
        }
        spec = {**self.fields, self.framework.replicas_field: replicas}
        return {
            "apiVersion": self.framework.gvk.api_version,
            "kind": self.kind,
            "metadata": {"name": name},
            "spec": spec | ({"runPolicy": dict(policy)} if policy else {}),
        }


@dataclass(frozen=True)
class Stage:
    api: Api
    namespace: str
    cast: Cast
    name: str
    """Of the job; no other scenario on the same server uses it."""
    granted: Api | None = None
    """The way of an operator that a test itself starts, with an operator's rights; None: as the test's own."""
    node: Callable[[Api, str], Kubelet] = Kubelet
    """Who moves the pods of a namespace through their lives."""

    @property
    def operators_way(self) -> Api:
        return self.granted or self.api

    @property
    def kubelet(self) -> Kubelet:
        return self.node(self.api, self.namespace)

    @property
    def jobs(self) -> Resource:
        return resource(self.cast.framework)

    def casting(self, **changes: Any) -> Stage:
        """The same stage for a job of other members or fields."""
        return replace(self, cast=replace(self.cast, **changes))

    def child(self, role: str, index: int = 0) -> str:
        return f"{self.name}-{role.lower()}-{index}"

    def children(self, *roles: str) -> list[str]:
        """The names of all members, or of those roles'."""
        wanted = roles or tuple(self.cast.replicas)
        return sorted(self.child(role, i) for role in wanted for i in range(self.cast.replicas[role]))

    async def submit(self, policy: Mapping[str, Any] | None = None, **roles: Mapping[str, Any]) -> None:
        await self.api.create(
            self.jobs, self.namespace, self.cast.job(self.name, policy=policy, **roles), dict
        )

    async def edit(self, spec: Mapping[str, Any]) -> None:
        await self.api.patch(self.jobs, self.namespace, self.name, {"spec": spec}, dict)

    async def delete(self) -> None:
        job = await self.job()
        await self.api.delete(self.jobs, self.namespace, self.name, job["metadata"]["uid"])

    async def job(self) -> Raw:
        return await self.api.get(self.jobs, self.namespace, self.name, dict)

    async def pods(self) -> dict[str, Raw]:
        return await self._ours(PODS)

    async def services(self) -> dict[str, Raw]:
        return await self._ours(SERVICES)

    async def events(self) -> list[tuple[str, str]]:
        """Reason and message of each event on the job."""
        found = await self.api.list(EVENTS, dict, namespace=self.namespace)
        return [(e["reason"], e["message"]) for e in found.items if e["involvedObject"]["name"] == self.name]

    async def run_all(self, *roles: str) -> None:
        """Every member has a pod and a service, and each of them runs."""
        names = self.children(*roles)
        await self.until(lambda: self._have(names), f"pods and services {names}")
        for name in names:
            await self.kubelet.run(name)

    async def exit_all(self, role: str, code: int = 0) -> None:
        for name in self.children(role):
            await self.kubelet.exit(name, code)

    async def until_state(self, *types: str) -> Raw:
        """The job after its newest condition has become one of these."""

        async def there() -> bool:
            conditions = (await self.job()).get("status", {}).get("conditions") or []
            return bool(conditions) and conditions[-1]["type"] in types

        await self.until(there, f"state {' or '.join(types)}")
        return await self.job()

    async def until(self, holds: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not await holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: waited in vain for {what}\n{await self._scene()}")
            await asyncio.sleep(0.02)

    async def until_told(self, reason: str, message: str) -> None:
        async def told() -> bool:
            return (reason, message) in await self.events()

        await self.until(told, f"the event {reason}: {message}")

    async def until_replaced(self, name: str, uid: str) -> None:
        """There is another pod of that name than that one."""

        async def replaced() -> bool:
            found = (await self.pods()).get(name)
            return found is not None and found["metadata"]["uid"] != uid

        await self.until(replaced, f"a new {name}")

    async def until_pods_are(self, names: list[str]) -> None:
        async def same() -> bool:
            return sorted(await self.pods()) == sorted(names)

        await self.until(same, f"exactly the pods {names}")

    async def until_services_are(self, names: list[str]) -> None:
        async def same() -> bool:
            return sorted(await self.services()) == sorted(names)

        await self.until(same, f"exactly the services {names}")

    async def _have(self, names: list[str]) -> bool:
        return set(names) <= set(await self.pods()) & set(await self.services())

    async def _ours(self, what: Resource) -> dict[str, Raw]:
        selector = f"training.kubeflow.org/job-name={self.name}"
        found = await self.api.list(what, dict, namespace=self.namespace, selector=selector)
        return {item["metadata"]["name"]: item for item in found.items}

    async def _scene(self) -> str:
        try:
            status = (await self.job()).get("status")
        except Gone:
            status = "(no job)"
        phases = {name: pod["status"].get("phase") for name, pod in (await self.pods()).items()}
        services, events = sorted(await self.services()), await self.events()
        return f"status {status}\npods {phases}\nservices {services}\nevents {events}"
