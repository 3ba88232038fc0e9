"""A quota that leaves no room for a pod: on a real server, and on the one in memory, which knows none by itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, TypeVar

from tests.scenarios.stage import Stage
from trainop.errors import Refused
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Raw, Resource

T = TypeVar("T")
QUOTAS = Resource("", "v1", "resourcequotas")
NONE = {"pods": "0"}


class Strict(Memory):
    """Refuses pods in the words of a real server as long as there is a quota."""

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        if what == PODS and (await self.list(QUOTAS, dict, namespace=namespace)).items:
            message = f'pods "{body["metadata"]["name"]}" is forbidden: exceeded quota: none'
            raise Refused(message, code=403, reason="Forbidden")
        return await super().create(what, namespace, body, shape)


class Quota:
    def __init__(self, stage: Stage) -> None:
        self._api, self._namespace, self._stage = stage.api, stage.namespace, stage

    async def impose(self) -> None:
        """From now on, no pod is taken."""
        body = {"metadata": {"name": "none"}, "spec": {"hard": NONE}}
        await self._api.create(QUOTAS, self._namespace, body, dict)
        # The controller that would do this is not part of the test cluster.
        status = {"status": {"hard": NONE, "used": NONE}}
        await self._api.patch(QUOTAS, self._namespace, "none", status, dict, subresource="status")
        await self.until_kept()

    async def lift(self) -> None:
        quota: Raw = await self._api.get(QUOTAS, self._namespace, "none", dict)
        await self._api.delete(QUOTAS, self._namespace, "none", quota["metadata"]["uid"])

    async def until_kept(self) -> None:
        """Admission hears of it a little later."""
        await self._stage.until(self._kept, "pods to be refused")

    async def _kept(self) -> bool:
        pod = {
            "metadata": {"name": f"try-{secrets.token_hex(4)}"},
            "spec": {"containers": [{"name": "none", "image": "none"}]},
        }
        try:
            made = await self._api.create(PODS, self._namespace, pod, dict)
        except Refused:
            return True
        await self._api.delete(PODS, self._namespace, made["metadata"]["name"], made["metadata"]["uid"])
        return False
