"""What kopf does for the real operator, for a controller in this process: tell it of every job."""

from __future__ import annotations

from typing import Any

from trainop.errors import Unreachable
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.follow import follow
from trainop.kube.port import Api
from trainop.operator.controller import Controller


async def watch_jobs(
    api: Api, controller: Controller, framework: Framework[Any], namespace: str | None = None
) -> None:
    """Ends when the API server cannot be reached any more."""
    try:
        async for change in follow(api, resource(framework), namespace=namespace):
            controller.job_seen(framework, change.object, deleted=change.type == "DELETED")
    except Unreachable:
        return
