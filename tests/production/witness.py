"""Watches jobs, pods and services of a namespace by itself, and says afterwards which promise was ever broken.

Revisions of all kinds are in one order, that of their resource versions: they come from one store. So what is
checked is what really happened, not what some watch heard of first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tests.production.process import until
from trainop.engine import labels
from trainop.errors import ApiError
from trainop.kube.port import PODS, SERVICES, Api, Raw, Resource

JOBS = (Resource("kubeflow.org", "v1", "tfjobs"), Resource("kubeflow.org", "v1", "mxjobs"))
CHILDREN = (PODS, SERVICES)
ENDS = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Revision:
    kind: Resource
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Raw

    @property
    def version(self) -> int:
        return int(self.object["metadata"]["resourceVersion"])

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class Witness:
    """What was there before is no news: begin before the first job."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.revisions: list[Revision] = []
        self._there: dict[str, int] = {}
        """UID to version, of what is held to exist."""
        self.excused = "none"
        """The promise that a test breaks on purpose."""

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Witness]:
        since = {kind: await self._now(kind) for kind in (*JOBS, *CHILDREN)}
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._watch(kind, version)) for kind, version in since.items()]
            try:
                yield self
                await self.caught_up()
            finally:
                for task in tasks:
                    task.cancel()

    async def caught_up(self) -> None:
        """Until all that is there now, and nothing else, is what was heard of."""

        async def same() -> bool:
            there = {}
            for kind in (*JOBS, *CHILDREN):
                for found in (await self._api.list(kind, dict, namespace=self._namespace)).items:
                    there[found["metadata"]["uid"]] = int(found["metadata"]["resourceVersion"])
            return there == self._there

        await until("the witness has heard of everything", same)

    def created(self, kind: Resource) -> Counter[str]:
        """How often an object of each name was made."""
        return Counter(r.name for r in self.revisions if r.kind == kind and r.type == "ADDED")

    def last(self, kind: Resource) -> dict[str, Raw]:
        """Every object that ever was, by name, as it was last heard of."""
        return {r.name: r.object for r in self.history() if r.kind == kind}

    def history(self) -> list[Revision]:
        return sorted(self.revisions, key=lambda revision: revision.version)

    def check(self) -> None:
        broken = [told for told in violations(self.history()) if not told.startswith(self.excused)]
        assert not broken, "\n".join(broken)

    async def _now(self, kind: Resource) -> str:
        listing = await self._api.list(kind, dict, namespace=self._namespace)
        assert not listing.items, f"there are {kind.plural} already"
        return listing.resource_version

    async def _watch(self, kind: Resource, since: str) -> None:
        while True:
            try:
                async for change in self._api.watch(kind, dict, since=since, namespace=self._namespace):
                    since = change.object["metadata"]["resourceVersion"]
                    if change.type != "BOOKMARK":
                        self._record(Revision(kind, change.type, change.object))
            except ApiError:
                await asyncio.sleep(0.1)

    def _record(self, revision: Revision) -> None:
        self.revisions.append(revision)
        if revision.type == "DELETED":
            self._there.pop(revision.uid, None)
        else:
            self._there[revision.uid] = revision.version


def violations(history: Iterable[Revision]) -> Iterator[str]:
    """The sentences for people that say which promise was broken by which revision."""
    jobs: dict[str, Raw] = {}
    alive: dict[str, Raw] = {}
    for revision in history:
        at = f"{revision.version} {revision.type} {revision.kind.plural} {revision.name}"
        if revision.kind in JOBS:
            before = jobs.get(revision.uid)
            yield from (f"{at}: {wrong}" for wrong in _of_a_job(before, revision.object))
            jobs[revision.uid] = revision.object
            continue
        owners = [o for o in revision.object["metadata"].get("ownerReferences", ()) if o.get("controller")]
        if not owners and labels.OPERATOR_NAME not in (revision.object["metadata"].get("labels") or ()):
            continue  # a stranger's, which happens to be here
        owner = jobs.get(owners[0]["uid"]) if len(owners) == 1 else None
        if owner is None:
            yield f"S2 {at}: its controllers are {owners}, none of them a job here"
            continue
        new = revision.type == "ADDED"
        if new and (why := _closed(owner)):
            yield f"S3 {at}: made although its job {why}"
        if revision.kind == PODS:
            alive.pop(revision.uid, None)
            if revision.type != "DELETED" and _lives(revision.object):
                alive[revision.uid] = revision.object
            if new:
                yield from (f"{at}: {wrong}" for wrong in _of_pods(owner, alive.values()))


def _of_a_job(before: Raw | None, after: Raw) -> Iterator[str]:
    old, new = (before or {}).get("status") or {}, after.get("status") or {}
    was, now = _conditions(old), _conditions(new)
    if all(_true(now, end) for end in ENDS):
        yield "S4 both Succeeded and Failed"
    for end in ENDS:
        if _true(was, end) and not _true(now, end):
            yield f"S4 {end} was taken back"
    resumed = _true(was, "Suspended") or _true(now, "Suspended")
    for field in ("startTime", "completionTime"):
        if old.get(field) and old[field] != new.get(field) and not resumed:
            yield f"S4 {field} went from {old[field]} to {new.get(field)}"
    for type_, condition in now.items():
        known = was.get(type_)
        same = known is not None and known["status"] == condition["status"]
        if known and same and known["lastTransitionTime"] != condition["lastTransitionTime"]:
            yield f"S4 lastTransitionTime of {type_} changed without its status"
    if new.get("restartCount", 0) < old.get("restartCount", 0) and not resumed:
        yield "S5 the restart count fell"
    for role, replicas in _replicas(after).items():
        counters = (new.get("replicaStatuses") or {}).get(role) or {}
        if sum(counters.get(field, 0) for field in ("active", "succeeded", "failed")) > replicas:
            yield f"S5 {role} counts more than its {replicas} members"


def _of_pods(owner: Raw, alive: Iterable[Raw]) -> Iterator[str]:
    uid, replicas = owner["metadata"]["uid"], {r.lower(): n for r, n in _replicas(owner).items()}
    mine = [pod for pod in alive if pod["metadata"]["ownerReferences"][0]["uid"] == uid]
    members = Counter(
        (p["metadata"]["labels"][labels.REPLICA_TYPE], int(p["metadata"]["labels"][labels.REPLICA_INDEX]))
        for p in mine
    )
    for (role, index), count in members.items():
        if count > 1:
            yield f"S1 {count} pods live for {role} {index}"
        if index >= replicas.get(role, 0):
            yield f"S1 a pod lives for {role} {index} of {replicas.get(role, 0)}"
    if len(mine) > sum(replicas.values()):
        yield f"S1 {len(mine)} pods live for {sum(replicas.values())} members"


def _closed(job: Raw) -> str:
    """Why no child of it may be made, if so."""
    conditions = _conditions(job.get("status") or {})
    if ended := next((end for end in ENDS if _true(conditions, end)), ""):
        return f"has {ended}"
    if job["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if _true(conditions, "Suspended") and (job["spec"].get("runPolicy") or {}).get("suspend"):
        return "is suspended"
    return ""


def _lives(pod: Raw) -> bool:
    return pod["status"].get("phase") not in ENDS and not pod["metadata"].get("deletionTimestamp")


def _conditions(status: Raw) -> dict[str, Any]:
    return {condition["type"]: condition for condition in status.get("conditions") or ()}


def _true(conditions: dict[str, Any], type_: str) -> bool:
    return type_ in conditions and conditions[type_]["status"] == "True"


def _replicas(job: Raw) -> dict[str, int]:
    field = next(name for name in job["spec"] if name.endswith("ReplicaSpecs"))
    return {role: spec.get("replicas", 1) for role, spec in job["spec"][field].items()}
