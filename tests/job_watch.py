"""What kopf does for the real operator, for a controller in this process: tell it of every job."""

from __future__ import annotations

from typing import Any

from trainop.errors import Gone, Unreachable
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.port import Api
from trainop.operator.controller import Controller


async def watch_jobs(
    api: Api, controller: Controller, framework: Framework[Any], namespace: str | None = None
) -> None:
    """Lists and watches, again and again; ends when the API server cannot be reached any more."""
    while True:
        try:
            await _watch_once(api, controller, framework, namespace)
        except Gone:
            continue
        except Unreachable:
            return


async def _watch_once(
    api: Api, controller: Controller, framework: Framework[Any], namespace: str | None
) -> None:
    what = resource(framework)
    listing = await api.list(what, dict, namespace=namespace)
    for job in listing.items:
        controller.job_seen(framework, job)
    async for change in api.watch(what, dict, since=listing.resource_version, namespace=namespace):
        if change.type != "BOOKMARK":
            controller.job_seen(framework, change.object, deleted=change.type == "DELETED")
