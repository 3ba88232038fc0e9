"""An API server in this process, for `trainop run` and for tests: held to a real one by shared scenarios.

It does what the operator can notice of a real one: resource versions, UIDs, conflicts, preconditions, the
status subresource, graceful deletion of pods that are on a node, garbage collection of dependents, lists,
watches and their expiry. Every kind is served unless it is `absent`. It does not validate: schemas are the real
server's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from trainop.api.base import rfc3339
from trainop.engine import gang
from trainop.errors import Conflict, Exists, Gone
from trainop.kube.port import PODS, Change, Listing, Raw, Resource

T = TypeVar("T")
Place = tuple[Resource, str, str]
REMEMBERED = 10_000
"""Changes that a watch may start before; twice as many are held at most."""


class Memory:
    def __init__(self) -> None:
        self._objects: dict[Place, Raw] = {}
        self._log: list[tuple[int, Resource, str, Raw]] = []
        self._version = 0
        self._forgotten = 0
        self._news = asyncio.Condition()
        self.absent: set[Resource] = set()
        """Kinds whose CRD is not installed."""

    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T:
        return _shaped(self._find((what, namespace, name)), shape)

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        self._ask_for(what)
        metadata = dict(body.get("metadata") or {})
        if "generateName" in metadata:
            metadata.setdefault("name", f"{metadata['generateName']}{secrets.token_hex(3)[:5]}")
        place = (what, namespace, metadata["name"])
        if place in self._objects:
            raise Exists(f'{what.plural} "{place[2]}" already exists', code=409, reason="AlreadyExists")
        metadata |= {
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": rfc3339(datetime.now(UTC)),
            "generation": 1,
        }
        made = _copy({**body, "metadata": metadata})
        made.pop("status", None)
        if what == PODS:
            made["status"] = {"phase": "Pending"}
        await self._store(place, made, "ADDED")
        return _shaped(made, shape)

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        place = (what, namespace, name)
        found = self._find(place)
        here = what == PODS and found.get("spec", {}).get("nodeName")
        if here and found["metadata"]["uid"] == uid:
            # The kubelet of that node takes it away, when its processes have ended.
            going = _copy(found)
            going["metadata"]["deletionTimestamp"] = rfc3339(datetime.now(UTC))
            await self._store(place, going, "MODIFIED")
        else:
            await self.remove(what, namespace, name, uid)

    async def remove(self, what: Resource, namespace: str, name: str, uid: str = "") -> None:
        """At once, as the kubelet or a force delete does it; what it owns is deleted after it."""
        place = (what, namespace, name)
        gone = _copy(self._find(place))
        if uid not in ("", gone["metadata"]["uid"]):
            raise Conflict(f'the UID of {what.plural} "{name}" is not {uid}', code=409, reason="Conflict")
        del self._objects[place]
        await self._tell(what, "DELETED", gone)
        for child, uid in self._dependents(gone["metadata"]["uid"]):
            with contextlib.suppress(Gone, Conflict):  # someone was faster
                await self.delete(*child, uid)

    async def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> T:
        place = (what, namespace, name)
        old = self._find(place)
        expected = patch.get("metadata") or {}
        if any(
            expected.get(field) not in (None, old["metadata"][field]) for field in ("resourceVersion", "uid")
        ):
            raise Conflict(f'{what.plural} "{name}" has been modified', code=409, reason="Conflict")
        own = {k: v for k, v in patch.items() if (k == "status") == (subresource == "status")}
        own.pop("metadata" if subresource else "status", None)
        # Volcano's CRD has no status subresource: there the status is a field like any other.
        new = _merged(old, patch if what.group == gang.VOLCANO.group else own)
        if new == old:
            return _shaped(old, shape)
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        await self._store(place, new, "MODIFIED")
        return _shaped(new, shape)

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        self._ask_for(what)
        found = [
            _shaped(item, shape)
            for (resource, _, _), item in sorted(self._objects.items())
            if resource == what and _selected(item, namespace, selector)
        ]
        return Listing(found, str(self._version))

    async def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[Change[T]]:
        seen = int(since)
        while True:
            async with self._news:
                while self._version <= seen:
                    await self._news.wait()
                if seen < self._forgotten:
                    raise Gone(f"resourceVersion {seen} is too old", code=410, reason="Expired")
                fresh = self._log[bisect_right(self._log, seen, key=_version) :]
                seen = max(seen, self._version)
            for _, resource, type_, item in fresh:
                if resource == what and _selected(item, namespace, selector):
                    yield msgspec.convert({"type": type_, "object": _copy(item)}, Change[shape])  # type: ignore[valid-type]  # a runtime generic

    async def forget_history(self) -> None:
        """Every watch that starts from before now finds its version expired."""
        async with self._news:
            self._version += 1
            self._forgotten = self._version
            self._log.clear()
            self._news.notify_all()

    def _ask_for(self, what: Resource) -> None:
        if what in self.absent:
            raise Gone("the server could not find the requested resource", code=404, reason="NotFound")

    def _find(self, place: Place) -> Raw:
        if place not in self._objects:
            raise Gone(f'{place[0].plural} "{place[2]}" not found', code=404, reason="NotFound")
        return self._objects[place]

    def _dependents(self, uid: str) -> Iterator[tuple[Place, str]]:
        for place, item in list(self._objects.items()):
            if any(o.get("uid") == uid for o in item["metadata"].get("ownerReferences") or ()):
                yield place, item["metadata"]["uid"]

    async def _store(self, place: Place, item: Raw, type_: str) -> None:
        self._objects[place] = item
        await self._tell(place[0], type_, item)

    async def _tell(self, what: Resource, type_: str, item: Raw) -> None:
        async with self._news:
            self._version += 1
            item["metadata"]["resourceVersion"] = str(self._version)
            self._log.append((self._version, what, type_, _copy(item)))
            if len(self._log) > 2 * REMEMBERED:
                self._forgotten = self._log[-REMEMBERED - 1][0]
                del self._log[:-REMEMBERED]
            self._news.notify_all()


def _version(entry: tuple[int, Resource, str, Raw]) -> int:
    return entry[0]


def _shaped(item: Raw, shape: type[T]) -> T:
    return msgspec.convert(_copy(item), shape)


def _copy(item: Raw) -> Raw:
    """As a trip over the wire would: nothing is shared with the caller."""
    copied: Raw = msgspec.json.decode(msgspec.json.encode(item))
    return copied


def _merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(old) if isinstance(old, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _selected(item: Raw, namespace: str | None, selector: str) -> bool:
    """Equality and `in (…)`, the two forms of selector that we use."""
    if namespace and item["metadata"]["namespace"] != namespace:
        return False
    labels = item["metadata"].get("labels") or {}
    if " in (" in selector:
        key, _, values = selector.partition(" in (")
        return labels.get(key) in values.rstrip(")").split(",")
    return all(
        labels.get(k) == v for k, _, v in (term.partition("=") for term in selector.split(",") if term)
    )
