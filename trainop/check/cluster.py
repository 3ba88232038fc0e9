"""The check of the CRD by who has to take it: the API server of a cluster, where one answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from trainop.check.subject import Complaint, Subject
from trainop.errors import Exists, Refused, TrainopError
from trainop.kube.client import Client
from trainop.kube.credentials import Credentials
from trainop.kube.port import Resource

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
PATIENCE = 5.0
"""Seconds: it is a question by the way."""
FORBIDDEN = 403


def taken(login: Credentials, subject: Subject) -> Iterator[Complaint]:
    """As a rehearsal: nothing is installed."""
    for framework in (subject, *map(Subject, subject.framework.dialects)):
        try:
            asyncio.run(_rehearse(login, framework))
        except Refused as error:
            yield Complaint(f"{framework.framework.kind}: {error}", "change the spec model, or the rules")


def answering(login: Callable[[], Credentials]) -> Credentials | None:
    """How to reach an API server that answers and lets CRDs be made; None: there is none."""
    with contextlib.suppress(TrainopError, OSError):
        found = login()
        asyncio.run(_greet(found))
        return found
    return None


async def _rehearse(login: Credentials, subject: Subject) -> None:
    async with Client(login, patience=PATIENCE) as api:
        # It looks at an object before it looks for one of the same name.
        with contextlib.suppress(Exists):
            await api.would_take(CRDS, subject.crd)


async def _greet(login: Credentials) -> None:
    """With an empty one: whoever may make CRDs is told what is wrong with it."""
    async with Client(login, patience=PATIENCE) as api:
        try:
            await api.would_take(
                CRDS, {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
            )
        except Refused as error:
            if error.code == FORBIDDEN:
                raise
