"""Every change of a kind, from what is there now on, whatever becomes of the watch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from trainop.errors import Gone
from trainop.kube.port import Api, Change, Raw, Resource


async def changes(api: Api, what: Resource, *, namespace: str | None = None) -> AsyncIterator[Change[Raw]]:
    """What was there before comes first, as added. Ends only with an error."""
    held: dict[str, Raw] = {}
    while True:
        listing = await api.list(what, dict[str, Any], namespace=namespace)
        listed = {item["metadata"]["uid"]: item for item in listing.items}
        for uid in held.keys() - listed.keys():
            yield Change("DELETED", held[uid])
        for uid, item in listed.items():
            if uid not in held or held[uid] != item:
                yield Change("MODIFIED" if uid in held else "ADDED", item)
        held = listed
        try:
            async for change in api.watch(
                what, dict[str, Any], since=listing.resource_version, namespace=namespace
            ):
                uid = change.object["metadata"].get("uid", "")
                if change.type == "DELETED":
                    held.pop(uid, None)
                elif change.type != "BOOKMARK":
                    held[uid] = change.object
                if change.type != "BOOKMARK":
                    yield change
        except Gone:
            continue
