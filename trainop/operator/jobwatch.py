"""kopf's watch on jobs, the one thing of kopf's that is used: begun anew when it ends, and kept from writing."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kopf

from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.credentials import Credentials
from trainop.model import GVK
from trainop.operator.controller import Controller
from trainop.operator.health import Hearing
from trainop.operator.signals import Signals

WATCH_SECONDS = 300
IDENTITY: Any = "trainop"
RENEWALS, BETWEEN_RENEWALS = 60, 1.0
"""How often new credentials are asked for, and after how many seconds each."""
SWEEPS = 10
"""How often a task that takes no notice is cancelled, a second apart."""
KOPF = str(Path(kopf.__file__).parent)
log = logging.getLogger(__name__)


async def watch(
    controller: Controller,
    frameworks: Mapping[GVK, Framework[Any]],
    login: Credentials,
    namespaces: Collection[str],
    *,
    silence: float,
    hearing: Hearing,
    signals: Signals,
) -> None:
    """Until cancelled. kopf's watches end with whatever the API server says that they do not expect: then begin anew.

    Its tasks are ended by us. Left to `kopf.run_tasks`, it would take calls of ours that are under way for its own,
    cancel them and fail with their errors, and wait for a watcher that it failed to stop until that times out.
    """
    while True:
        started = time.monotonic()
        try:
            tasks = await kopf.spawn_tasks(
                registry=_registry(controller, frameworks, login),
                settings=_settings(silence),
                # Whom other operators of kopf would know us as, if we spoke with them. Left to itself kopf asks
                # for the user's name, which in a container need not have one.
                identity=IDENTITY,
                standalone=True,
                clusterwide=not namespaces,
                namespaces=list(namespaces),
            )
            signals.heed()
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            why = next((_words(error) for task in done if (error := task.exception())), "kopf has ended")
        except Exception as error:
            why = _words(error)
        finally:
            await _swept()
        controller.metrics.watch_failed("jobs")
        wait = hearing.failed(time.monotonic() - started)
        log.warning("watching jobs: %s; trying again in %.0f s", why, wait)
        await asyncio.sleep(wait)
        login = await _renewed(login)


async def _swept() -> None:
    """Nothing of kopf's goes on: a watcher that is left would hand on everything a second time, beside the next."""
    for _ in range(SWEEPS):
        left = [task for task in asyncio.all_tasks() if _is_kopfs(task)]
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=1)
        for task in left:
            if task.done() and not task.cancelled():
                task.exception()  # it has been told, or is about the end that we have brought about
    log.warning("kopf does not end: %s", ", ".join(task.get_name() for task in left))


def _is_kopfs(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(KOPF)


def _words(error: BaseException) -> str:
    """What is wrong, without the groups that tasks wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _registry(
    controller: Controller, frameworks: Mapping[GVK, Framework[Any]], login: Credentials
) -> kopf.OperatorRegistry:
    """Only event handlers: they write nothing to users' jobs, neither finalizers nor annotations."""
    registry = kopf.OperatorRegistry()

    known: list[Credentials] = []

    @kopf.on.login(registry=registry)
    async def _log_in(**_: Any) -> kopf.ConnectionInfo:
        """The first time what we have; after that kopf asks because it has expired or the server has refused it."""
        known.append(await _others_than(known[-1]) if known else login)
        del known[:-1]
        return _for_kopf(known[-1])

    for framework in frameworks.values():

        @kopf.on.event(
            framework.group, framework.version, framework.plural, registry=registry, id=framework.name
        )
        async def _job_seen(event: Any, framework: Framework[Any] = framework, **_: Any) -> None:
            controller.job_seen(framework, _slim(event["object"]), deleted=event["type"] == "DELETED")

    return registry


async def _renewed(login: Credentials) -> Credentials:
    """Or the old ones, as long as there are no others."""
    try:
        return await asyncio.to_thread(login.renewed)
    except Usage as error:
        log.warning("new credentials cannot be had: %s", error)
        return login


async def _others_than(old: Credentials) -> Credentials:
    """kopf gives up when it is told what was refused already: a file that is about to change gets some time."""
    expired = old.expiration is not None and old.expiration <= datetime.now(UTC)
    for _ in range(RENEWALS):
        new = await _renewed(old)
        if expired or dataclasses.replace(new, expiration=old.expiration) != old:
            break
        await asyncio.sleep(BETWEEN_RENEWALS)
    return new


def _for_kopf(login: Credentials) -> kopf.ConnectionInfo:
    """What kopf wants to know has the same names there."""
    wanted = {field.name for field in dataclasses.fields(kopf.ConnectionInfo)}
    known = {field.name for field in dataclasses.fields(login)}
    return kopf.ConnectionInfo(**{name: getattr(login, name) for name in wanted & known})


def _slim(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without what nobody looks at and what makes up half of a stored job."""
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    return {**raw, "metadata": metadata}


def _settings(silence: float) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.diffbase_storage = _NoDiffs()
    settings.persistence.progress_storage = _NoProgress()
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.client_timeout = WATCH_SECONDS + 60
    settings.watching.inactivity_timeout = silence
    settings.watching.connect_timeout = 30
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 60
    return settings


class _NoDiffs(kopf.DiffBaseStorage):
    """Nobody asks what has changed in a job: two copies of it for each event would be made for nothing."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> Any:
        return None

    def store(self, **_: Any) -> None: ...


class _NoProgress(kopf.ProgressStorage):
    """Event handlers have none."""

    def fetch(self, **_: Any) -> Any:
        return None

    def store(self, **_: Any) -> None: ...

    def purge(self, **_: Any) -> None: ...

    def touch(self, **_: Any) -> None: ...

    def clear(self, *, essence: Any) -> Any:
        return essence
