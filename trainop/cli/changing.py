"""What suspend, resume and delete share: one write to one job, and honest words about it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import click

from trainop.api.status import ConditionType
from trainop.cli.following import SHORTEST, looks
from trainop.cli.options import Where
from trainop.cli.subject import in_cluster, opened
from trainop.errors import Conflict, Gone
from trainop.kube import facts
from trainop.kube.cluster import resource
from trainop.kube.find import Found
from trainop.kube.port import Api
from trainop.parse import parse


async def suspend(job: str, where: Where, output: str, *, suspended: bool) -> int:
    """Sets the field, unless it is so already or there is nothing to suspend any more."""
    word = "suspended" if suspended else "resumed"
    async with opened(where, in_cluster(job)) as (api, found):
        seen = parse(found.framework, found.raw)
        if seen.status.finished:
            ended = "succeeded" if seen.status.is_true(ConditionType.SUCCEEDED) else "failed"
            sentence = f"{found.title} has {ended}: it cannot be {word}; delete it and submit it anew"
            return _say(found, output, sentence, changed=False, code=1)
        if _is_suspended(found) == suspended:
            already = "is suspended already" if suspended else "is not suspended"
            return _say(found, output, f"{found.title} {already}", changed=False)
        metadata = found.raw["metadata"]
        patch = {"metadata": {"uid": found.uid}, "spec": {"runPolicy": {"suspend": suspended}}}
        await api.patch(resource(found.framework), metadata["namespace"], metadata["name"], patch, dict)
        return _say(found, output, f"{found.title} is {word}", changed=True)


def _is_suspended(found: Found) -> bool:
    """As it is written, whatever else is wrong with the spec."""
    policy = (found.raw.get("spec") or {}).get("runPolicy") or {}
    return bool(policy.get("suspend"))


async def delete(job: str, where: Where, output: str, *, wait: bool) -> int:
    async with opened(where, in_cluster(job)) as (api, found):
        metadata = found.raw["metadata"]
        already = bool(metadata.get("deletionTimestamp"))
        try:
            await api.delete(resource(found.framework), metadata["namespace"], metadata["name"], found.uid)
        except (Gone, Conflict):
            already = True  # somebody was quicker; of another of its name we keep our hands off
        if wait:
            await _until_gone(api, found)
            return _say(found, output, f"{found.title} and its pods are gone", changed=not already)
        sentence = f"{found.title} {'is being deleted already' if already else 'is deleted'}"
        return _say(found, output, sentence, changed=not already)


async def _until_gone(api: Api, found: Found) -> None:
    """The job first, then its pods: the cluster takes them away after it, each in its own time."""
    with suppress(Gone):
        async for _ in looks(lambda: facts.look(api, found)):
            pass  # it ends when the job is not there any more
    while await facts.pods_of(api, found):  # noqa: ASYNC110 - nobody here could set an event
        await asyncio.sleep(SHORTEST)


def _say(found: Found, output: str, sentence: str, *, changed: bool, code: int = 0) -> int:
    if output == "json":
        metadata = found.raw["metadata"]
        where = {"kind": found.framework.kind, "namespace": metadata["namespace"], "name": metadata["name"]}
        click.echo(json.dumps(where | {"uid": found.uid, "changed": changed, "message": sentence}))
    else:
        click.echo(sentence, err=bool(code))
    return code
