"""The node in tests: moves a pod through its life on command, by patching its status as a kubelet would.

`make kubelet` plays one for `make cluster`, where pods are objects that nobody runs.
"""

from __future__ import annotations

import asyncio
from typing import Any

import click

from trainop.engine import labels
from trainop.errors import TrainopError
from trainop.kube.client import Client
from trainop.kube.credentials import load
from trainop.kube.port import PODS, Api, Raw


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

    async def wait(self, name: str, reason: str, message: str, phase: str = "Running") -> None:
        """No container of the pod gets on; the kubelet says why. `Pending`: none has ever run."""
        state = {"waiting": {"reason": reason, "message": message}}
        await self._patch(name, phase, lambda container: _status(container, state))

    async def crash(self, name: str, code: int, *, restarts: int, reason: str = "Error") -> None:
        """Its containers ended with that code, again, and the kubelet waits before it starts them once more."""
        state = {
            "waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}
        }
        before = {"lastState": _terminated(code, reason)}
        await self._patch(name, "Running", lambda container: _status(container, state, restarts) | before)

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


def _terminated(code: int, reason: str = "Error") -> Raw:
    return {"terminated": {"exitCode": code, "reason": reason if code else "Completed"}}


async def play(seconds: float) -> None:
    """Run every pod of a training job; let those that lead end well after a while, which ends their jobs."""
    async with Client(load()) as api:
        click.echo(f"every pod runs; each job's leading member exits 0 after {seconds:g} s; Ctrl-C ends this")
        while True:
            for pod in (await api.list(PODS, dict, selector=labels.JOB_NAME)).items:
                kubelet, name = Kubelet(api, pod["metadata"]["namespace"]), pod["metadata"]["name"]
                phase, leads = pod["status"].get("phase"), labels.JOB_ROLE in pod["metadata"]["labels"]
                if phase == "Pending":
                    click.echo(f"{name} runs")
                    await kubelet.run(name)
                elif phase == "Running" and leads:
                    await asyncio.sleep(seconds)
                    click.echo(f"{name} exits 0")
                    await kubelet.exit(name)
            await asyncio.sleep(0.2)


@click.command()
@click.option("--after", default=3.0, show_default=True, help="Seconds a leading member runs.")
def main(after: float) -> None:
    """Play the node for the cluster that KUBECONFIG names, until Ctrl-C."""
    try:
        asyncio.run(play(after))
    except TrainopError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
