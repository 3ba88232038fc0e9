"""All that tells why a job is as it is, read with the rights of whoever asks: what they may not see is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from trainop.engine import gang, labels
from trainop.errors import ApiError, Gone, Refused
from trainop.explain.evidence import Event, Evidence, Pod, PodGroup, Quota
from trainop.framework import Framework
from trainop.kube import wire
from trainop.kube.client import Client
from trainop.kube.cluster import resource, wall_clock
from trainop.kube.find import Found
from trainop.kube.port import EVENTS, PODS, Api, Raw, Resource

T = TypeVar("T")
QUOTAS = Resource("", "v1", "resourcequotas")
GROUPS = tuple(Resource(gvk.group, gvk.version, "podgroups") for gvk in (gang.VOLCANO, gang.PLUGINS))
LONG_AGO = datetime.min.replace(tzinfo=UTC)
LAST_WORDS = 20
"""Lines of a log that are read to tell why a program has failed."""


def recorded(
    framework: Framework[Any],
    job: Mapping[str, Any],
    pods: Iterable[Raw],
    events: Iterable[Raw],
    now: datetime,
) -> Evidence:
    """From objects as Kubernetes writes them, wherever they were kept."""
    own, uid = list(pods), (job.get("metadata") or {}).get("uid")
    told = sorted(msgspec.convert(list(events), list[Event]), key=lambda it: it.time or LONG_AGO)
    about = {uid, *(pod["metadata"].get("uid") for pod in own)}
    return Evidence(
        framework=framework,
        raw=job,
        now=now,
        pods=tuple(msgspec.convert(own, list[Pod])),
        seen=tuple(pod.seen() for pod in msgspec.convert(own, list[wire.Pod])),
        events=tuple(event for event in told if event.involved_object.uid in about),
    )


async def look(api: Api, found: Found) -> Evidence:
    """The job as it is now, and its pods. Gone: it is not there any more, or another has its name."""
    metadata = found.raw["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    job: Raw = await api.get(resource(found.framework), namespace, name, dict)
    if job["metadata"]["uid"] != found.uid:
        raise Gone(f"{found.title} was deleted, and another of its name was made")
    pods = await api.list(PODS, dict, namespace=namespace, selector=f"{labels.JOB_NAME}={name}")
    own = [pod for pod in pods.items if owner(pod) == found.uid]
    return recorded(found.framework, job, own, (), wall_clock())


async def with_events(api: Api, evidence: Evidence) -> Evidence:
    """And what was said about them."""
    events, refusal = await _may_read(api, EVENTS, evidence.job.namespace, Event)
    about = {evidence.job.uid, *(pod.metadata.uid for pod in evidence.pods)}
    own = [event for event in events if event.involved_object.uid in about]
    own.sort(key=lambda it: it.time or LONG_AGO)
    return replace(evidence, events=tuple(own), unseen=(*evidence.unseen, *refusal))


async def closely(api: Client, evidence: Evidence) -> Evidence:
    """And what may stand in the way, and the last words of programs that failed."""
    evidence = await with_events(api, evidence)
    quotas, refusal = await _may_read(api, QUOTAS, evidence.job.namespace, Quota)
    group: PodGroup | None = None
    for groups in GROUPS:
        try:
            group = group or await api.get(groups, evidence.job.namespace, evidence.job.name, PodGroup)
        except (Gone, Refused):
            continue
    words = {
        pod.name: await _last_words(api, evidence, pod) for pod in evidence.pods if _failed(evidence, pod)
    }
    unseen = (*evidence.unseen, *refusal)
    return replace(evidence, quotas=tuple(quotas), group=group, last_words=words, unseen=unseen)


async def _may_read(
    api: Api, what: Resource, namespace: str, shape: type[T]
) -> tuple[list[T], tuple[str, ...]]:
    try:
        return (await api.list(what, shape, namespace=namespace)).items, ()
    except Refused as error:
        return [], (f"you cannot see {what.plural}: {error}",)


def owner(pod: Raw) -> str | None:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _failed(evidence: Evidence, pod: Pod) -> bool:
    own = pod.container(evidence.framework.container)
    ended = own.ended if own else None
    return ended is not None and ended.exit_code != 0


async def _last_words(api: Client, evidence: Evidence, pod: Pod) -> tuple[str, ...]:
    own = pod.container(evidence.framework.container)
    # A container that runs again has lost its old words to `previous`.
    previous = own is not None and own.state.running is not None
    query = {"container": evidence.framework.container, "tailLines": str(LAST_WORDS)}
    query |= {"previous": "true"} if previous else {}
    try:
        lines = api.lines(PODS, evidence.job.namespace, pod.name, "log", query)
        return tuple([line async for line in lines])
    except ApiError:
        # The node may be gone, and the answer is worth giving without it.
        return ()
