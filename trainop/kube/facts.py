"""All that tells why a job is as it is, read with the rights of whoever asks: what they may not see is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from trainop.api.status import ConditionType
from trainop.engine import gang, labels
from trainop.errors import ApiError, Gone, Refused
from trainop.explain.evidence import Event, Evidence, Node, Owned, Pod, PodGroup, Quota
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.client import Client
from trainop.kube.cluster import resource, wall_clock
from trainop.kube.find import Found
from trainop.kube.port import EVENTS, PODS, SERVICES, Api, Raw, Resource

T = TypeVar("T")
NODES = Resource("", "v1", "nodes")
QUOTAS = Resource("", "v1", "resourcequotas")
GROUPS = tuple(Resource(gvk.group, gvk.version, "podgroups") for gvk in (gang.VOLCANO, gang.PLUGINS))
LAST_WORDS = 20
"""Lines of a log that are read to tell why a program has failed."""
MOST_LISTENED_TO = 16
"""Programs whose last words are read: where many fail, they mostly fail alike."""


def recorded(
    framework: Framework[Any],
    job: Mapping[str, Any],
    pods: Iterable[Raw],
    events: Iterable[Raw],
    now: datetime,
) -> Evidence:
    """From objects as Kubernetes writes them, wherever they were kept."""
    own = list(pods)
    evidence = Evidence(
        framework=framework,
        raw=job,
        now=now,
        pods=tuple(msgspec.convert(own, list[Pod])),
        seen=tuple(pod.seen() for pod in msgspec.convert(own, list[wire.Pod])),
    )
    return _with(evidence, msgspec.convert(list(events), list[Event]))


def _with(evidence: Evidence, events: Iterable[Event]) -> Evidence:
    about = {evidence.job.uid, *(pod.metadata.uid for pod in evidence.pods)}
    own = [event for event in events if event.involved_object.uid in about]
    return replace(evidence, events=tuple(sorted(own, key=lambda event: event.order)))


async def look(api: Api, found: Found) -> Evidence:
    """The job as it is now, and its pods. Gone: it is not there any more, or another has its name."""
    metadata = found.raw["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    job: Raw = await api.get(resource(found.framework), namespace, name, dict)
    if job["metadata"]["uid"] != found.uid:
        raise Gone(f"{found.title} was deleted, and another of its name was made")
    return recorded(found.framework, job, await pods_of(api, found), (), wall_clock())


async def pods_of(api: Api, found: Found) -> list[Raw]:
    """What the job controls, not what only has its label."""
    metadata = found.raw["metadata"]
    selector = f"{labels.JOB_NAME}={metadata['name']}"
    pods = await api.list(PODS, dict, namespace=metadata["namespace"], selector=selector)
    return [pod for pod in pods.items if _owner(pod) == found.uid]


async def with_events(api: Api, evidence: Evidence) -> Evidence:
    """And what was said about them."""
    events, refusal = await _may_read(api, EVENTS, evidence.job.namespace, Event)
    return replace(_with(evidence, events), unseen=(*evidence.unseen, *refusal))


async def closely(api: Client, evidence: Evidence) -> Evidence:
    """And what may stand in the way, and the last words of programs that failed."""
    evidence, job = await with_events(api, evidence), evidence.job
    quotas, refusal = await _may_read(api, QUOTAS, job.namespace, Quota)
    groups = [await _if_there(api, groups, job.namespace, job.name, PodGroup) for groups in GROUPS]
    return replace(
        evidence,
        quotas=tuple(quotas),
        group=next(filter(None, groups), None),
        nodes=await _nodes(api, evidence),
        rival=await _rival(api, evidence),
        last_words=await _last_words(api, evidence),
        unseen=(*evidence.unseen, *refusal),
    )


async def _may_read(
    api: Api, what: Resource, namespace: str | None, shape: type[T]
) -> tuple[list[T], tuple[str, ...]]:
    try:
        return (await api.list(what, shape, namespace=namespace)).items, ()
    except Refused as error:
        return [], (f"you cannot see {what.plural}: {error}",)


async def _if_there(api: Api, what: Resource, namespace: str, name: str, shape: type[T]) -> T | None:
    try:
        return await api.get(what, namespace, name, shape)
    except (Gone, Refused):
        return None


async def _nodes(api: Api, evidence: Evidence) -> tuple[Node, ...]:
    """Where a pod finds no place. Few users may see nodes, and the scheduler has told most of it anyway."""
    placed = (pod.condition("PodScheduled") for pod in evidence.pods)
    if not any(condition and condition.status == "False" for condition in placed):
        return ()
    return tuple((await _may_read(api, NODES, None, Node))[0])


async def _rival(api: Api, evidence: Evidence) -> Owned | None:
    """The pod or service that has a name which the job wants for a child of its own."""
    blocked = evidence.job.status.condition(ConditionType.BLOCKED)
    if not blocked or not blocked.true or blocked.reason != "NameConflict":
        return None
    kind, _, rest = blocked.message.partition(" ")
    what = {"pod": PODS, "service": SERVICES}.get(kind)
    return await _if_there(api, what, evidence.job.namespace, rest.partition(" ")[0], Owned) if what else None


def _owner(pod: Raw) -> str | None:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


async def _last_words(api: Client, evidence: Evidence) -> dict[str, tuple[str, ...]]:
    container = evidence.framework.container
    failed = []
    for pod in evidence.pods:
        own = pod.container(container)
        if own and own.ended and own.ended.exit_code:
            # A container that runs again has lost its old words to `previous`.
            failed.append((pod.name, {"previous": "true"} if own.state.running else {}))
    failed = failed[:MOST_LISTENED_TO]
    query = {"container": container, "tailLines": str(LAST_WORDS)}
    words = await asyncio.gather(
        *(_words(api, evidence.job.namespace, it, query | how) for it, how in failed)
    )
    return {name: lines for (name, _), lines in zip(failed, words, strict=True)}


async def _words(api: Client, namespace: str, pod: str, query: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return tuple([line async for line in api.lines(PODS, namespace, pod, "log", query)])
    except ApiError:
        # The node may be gone, and the answer is worth giving without it.
        return ()
