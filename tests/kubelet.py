"""The node in tests: moves a pod through its life on command, by patching its status as a kubelet would."""

from __future__ import annotations

from typing import Any

from trainop.kube.port import PODS, Api, Raw

NODE = "test-node"


class Kubelet:
    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace

    async def run(self, name: str, *, restarts: int = 0) -> None:
        """All containers are running; the kubelet has restarted each of them so often."""
        state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        await self._patch(name, "Running", lambda container: _status(container, state, restarts))

    async def exit(self, name: str, code: int = 0, *, sidecars: int = 0) -> None:
        """All containers have ended: the first with that code, the others with theirs."""
        pod = await self._api.get(PODS, self._namespace, name, dict)
        first = pod["spec"]["containers"][0]["name"]
        await self._patch(
            name,
            "Failed" if code or sidecars else "Succeeded",
            lambda container: _status(container, _terminated(code if container == first else sidecars)),
        )

    async def evict(self, name: str) -> None:
        """The node had no room left: the pod has failed, its containers tell nothing."""
        status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        await self._api.patch(PODS, self._namespace, name, {"status": status}, dict, subresource="status")

    async def _patch(self, name: str, phase: str, status: Any) -> None:
        pod: Raw = await self._api.get(PODS, self._namespace, name, dict)
        names = [container["name"] for container in pod["spec"]["containers"]]
        body = {"status": {"phase": phase, "containerStatuses": [status(container) for container in names]}}
        await self._api.patch(PODS, self._namespace, name, body, dict, subresource="status")


def _status(container: str, state: Raw, restarts: int = 0) -> Raw:
    return {
        "name": container,
        "image": "test",
        "imageID": "test",
        "ready": "running" in state,
        "restartCount": restarts,
        "state": state,
    }


def _terminated(code: int) -> Raw:
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
