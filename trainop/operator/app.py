"""The process as kopf runs it: signals, credentials and the watch on jobs are kopf's, the rest is the controller's."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import kopf

from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.credentials import Credentials, load
from trainop.model import DEFAULTS, GVK, Settings
from trainop.operator.controller import Controller

WATCH_SECONDS = 300
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Options:
    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    """The only namespace to look at; None: all of them."""
    settings: Settings = DEFAULTS
    workers: int = 16


async def serve(frameworks: Mapping[GVK, Framework[Any]], options: Options) -> None:
    """Until SIGTERM or SIGINT."""
    login = load(options.kubeconfig, options.context)
    async with Client(login) as api:
        served = await _served(api, frameworks)
        controller = Controller(
            api,
            served,
            namespace=options.namespace,
            settings=options.settings,
            workers=options.workers,
        )
        # Our tasks are started before kopf, which ends whatever was started after it.
        async with controller.running():
            where = f"namespace {options.namespace}" if options.namespace else "all namespaces"
            log.info("serving %s in %s", ", ".join(sorted(gvk.kind for gvk in served)), where)
            await kopf.operator(
                registry=_registry(controller, served, login),
                settings=_settings(),
                standalone=True,
                clusterwide=options.namespace is None,
                namespaces=[options.namespace] if options.namespace else [],
            )


async def _served(api: Client, frameworks: Mapping[GVK, Framework[Any]]) -> dict[GVK, Framework[Any]]:
    """The frameworks whose CRD is installed."""
    served = {}
    for gvk, framework in frameworks.items():
        if framework.plural in await api.served(gvk.group, gvk.version):
            served[gvk] = framework
        else:
            log.warning("%s is not served here: its CRD is not installed", gvk.kind)
    if not served:
        raise Usage(
            "none of the job kinds is installed; install them first: trainop crds | kubectl apply -f -"
        )
    return served


def _registry(
    controller: Controller, frameworks: Mapping[GVK, Framework[Any]], login: Credentials
) -> kopf.OperatorRegistry:
    """Only event handlers: they write nothing to users' jobs, neither finalizers nor annotations."""
    registry = kopf.OperatorRegistry()

    known: list[Credentials] = []

    @kopf.on.login(registry=registry)
    async def _log_in(**_: Any) -> kopf.ConnectionInfo:
        """The first time what we have; after that kopf asks because the server has refused it."""
        known.append(await asyncio.to_thread(login.renewed) if known else login)
        return _for_kopf(known[-1])

    for framework in frameworks.values():

        @kopf.on.event(
            framework.group, framework.version, framework.plural, registry=registry, id=framework.name
        )
        async def _job_seen(event: Any, framework: Framework[Any] = framework, **_: Any) -> None:
            controller.job_seen(framework, _slim(event["object"]), deleted=event["type"] == "DELETED")

    return registry


def _for_kopf(login: Credentials) -> kopf.ConnectionInfo:
    """What kopf wants to know has the same names there."""
    wanted = {field.name for field in dataclasses.fields(kopf.ConnectionInfo)}
    known = {field.name for field in dataclasses.fields(login)}
    return kopf.ConnectionInfo(**{name: getattr(login, name) for name in wanted & known})


def _slim(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without what nobody looks at and what makes up half of a stored job."""
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    return {**raw, "metadata": metadata}


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.client_timeout = WATCH_SECONDS + 60
    settings.watching.connect_timeout = 30
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 60
    return settings
