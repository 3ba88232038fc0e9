"""The pod life: plays the kubelet for many pods at once, in a process of its own whose CPU is nobody's.

`python -m bench.podlife KUBECONFIG` reads lines `PHASE NAMESPACE POD…`, gives those pods that phase, answers `done`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import msgspec
import uvloop

from bench.lifeline import commands
from bench.loads import tensorflow
from trainop.kube.client import Client
from trainop.kube.credentials import load
from trainop.kube.port import PODS, Api, Raw

IN_FLIGHT = 32
STATES = {
    "Running": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    "Succeeded": {"terminated": {"exitCode": 0, "reason": "Completed"}},
}


async def main(kubeconfig: str) -> None:
    container = tensorflow().container
    async with Client(load(kubeconfig)) as api:
        async for line in commands():
            phase, namespace, *pods = line.split()
            left, body = iter(pods), {"status": _status(phase, container)}
            await asyncio.gather(*(_live(api, namespace, body, left) for _ in range(IN_FLIGHT)))


async def _live(api: Api, namespace: str, body: Raw, left: Iterator[str]) -> None:
    """`left` is shared: each pod is taken by one of those who ask."""
    for pod in left:
        await api.patch(PODS, namespace, pod, body, msgspec.Raw, subresource="status")


def _status(phase: str, container: str) -> Raw:
    told = {"name": container, "image": "test", "imageID": "test", "restartCount": 0}
    told |= {"ready": phase == "Running", "state": STATES[phase]}
    return {"phase": phase, "containerStatuses": [told]}


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
