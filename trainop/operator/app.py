"""The process: what it is told at the start, put together and kept until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from trainop.errors import ApiError, Usage
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.credentials import Credentials, load
from trainop.model import DEFAULTS, GVK, Settings
from trainop.operator import probes
from trainop.operator.controller import Controller
from trainop.operator.health import Pulse, complaints
from trainop.operator.lease import USUAL, Lease, Terms
from trainop.operator.metrics import Metrics
from trainop.operator.signals import Signals

LOOK_AGAIN = 30.0
"""Seconds between two looks for kinds that are not installed. Where all of them are, nobody looks."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Election:
    name: str = "trainop"
    """Of the Lease."""
    namespace: str = ""
    """Empty: the one this process belongs to."""
    terms: Terms = USUAL


@dataclass(frozen=True, kw_only=True)
class Options:
    kubeconfig: str | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    """The only ones to look at; none: all of them."""
    settings: Settings = DEFAULTS
    workers: int = 16
    election: Election | None = None
    """None: no other operator is there."""
    metrics_address: str = ""
    """Empty: nobody may ask."""
    probe_address: str = ""
    silence: float = 90.0
    """Seconds without a word after which a stream is opened anew: a connection that is only half there is silent,
    too."""


async def serve(frameworks: Mapping[GVK, Framework[Any]], options: Options) -> None:
    """Until SIGTERM or SIGINT, also while it is still waiting for an API server; a second one does not wait."""
    await Signals().end(_serve(frameworks, options))


async def _serve(frameworks: Mapping[GVK, Framework[Any]], options: Options) -> None:
    login, metrics = load(options.kubeconfig, options.context), Metrics()
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(
            Client(login, silence=options.silence, answered=metrics.requested)
        )
        way = None
        if options.election:
            # A way of its own to the API server: a flood of pods must not keep the lease from being renewed.
            quick = options.election.terms.renew_deadline / 2
            way = await stack.enter_async_context(Client(login, patience=quick, answered=metrics.requested))
        while True:
            served = await _served(api, frameworks)
            lease = _lease(way, login, options.election) if way and options.election else None
            controller = Controller(
                api,
                served,
                namespaces=options.namespaces,
                settings=options.settings,
                workers=options.workers,
                metrics=metrics,
                lease=lease,
                writer=api.fenced(lease.check) if lease else None,
            )
            async with _answering(controller, lease, options), controller.running():
                _freeze()
                where = (
                    "namespace " + ", ".join(options.namespaces) if options.namespaces else "all namespaces"
                )
                log.info("serving %s in %s", ", ".join(sorted({gvk.kind for gvk in served})), where)
                await _one_more(api, [it for gvk, it in frameworks.items() if gvk not in served])


async def _one_more(api: Client, missing: Collection[Framework[Any]]) -> None:
    """Until one of these kinds is installed as well. Its CRD may come after the operator, or take its time."""
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        for where in sorted({(framework.group, framework.version) for framework in missing}):
            with suppress(ApiError):
                there = await api.served(*where)
                for it in missing:
                    if (it.group, it.version) == where and it.plural in there:
                        log.info("%s of %s is installed now: starting anew", it.kind, it.group)
                        return


def _lease(api: Client, login: Credentials, election: Election) -> Lease:
    pod = os.environ.get("POD_NAME") or os.environ.get("MY_POD_NAME") or socket.gethostname()
    namespace = (
        election.namespace
        or os.environ.get("POD_NAMESPACE")
        or os.environ.get("MY_POD_NAMESPACE")
        or login.default_namespace
    )
    # A pod that was restarted is another process: what it wrote before, it does not remember.
    return Lease(api, namespace, election.name, f"{pod}_{secrets.token_hex(4)}", election.terms)


@asynccontextmanager
async def _answering(controller: Controller, lease: Lease | None, options: Options) -> AsyncIterator[None]:
    """Probes and metrics, from before the caches are filled until the end."""
    pulse = Pulse()

    def page() -> bytes:
        controller.measure()
        return controller.metrics.page()

    routes = {
        options.probe_address: probes.health(
            lambda: complaints(controller, pulse, lease), controller.unfilled
        )
    }
    routes.setdefault(options.metrics_address, []).extend(probes.metrics(page))
    async with AsyncExitStack() as stack:
        for address, paths in routes.items():
            if address:
                told = await stack.enter_async_context(probes.listening(address, paths))
                log.info("listening on %s for %s", told, ", ".join(route.path for route in paths))
        beat = asyncio.create_task(pulse.run())
        try:
            yield
        finally:
            beat.cancel()


def _freeze() -> None:
    """What is there after the start stays: the collector need not look at it again, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def _served(api: Client, frameworks: Mapping[GVK, Framework[Any]]) -> dict[GVK, Framework[Any]]:
    """The frameworks whose CRD is installed."""
    served = {}
    for gvk, framework in frameworks.items():
        if framework.plural in await api.served(gvk.group, gvk.version):
            served[gvk] = framework
        else:
            level = logging.DEBUG if framework.older else logging.WARNING
            log.log(level, "%s of %s is not served here: its CRD is not installed", gvk.kind, gvk.group)
    if not served:
        raise Usage(
            "none of the job kinds is installed; install them first: trainop crds | kubectl apply -f -"
        )
    return served
