"""What kopf does for the real operator, for a controller in this process: tell it of every job."""

from __future__ import annotations

from typing import Any

from trainop.errors import Unreachable
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.port import Api
from trainop.operator.controller import Controller


async def watch_jobs(api: Api, controller: Controller, framework: Framework[Any]) -> None:
    """Lists, then watches; ends when the API server cannot be reached any more."""
    listing = await api.list(resource(framework), dict)
    for job in listing.items:
        controller.job_seen(framework, job)
    try:
        async for change in api.watch(resource(framework), dict, since=listing.resource_version):
            controller.job_seen(framework, change.object, deleted=change.type == "DELETED")
    except Unreachable:
        return
