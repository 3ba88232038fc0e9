"""The users' jobs as they were last heard of, whoever told: the watch, or the answer to our own write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainop.model import Key


class Jobs:
    def __init__(self) -> None:
        self._held: dict[Key, Mapping[str, Any]] = {}

    def get(self, key: Key) -> Mapping[str, Any] | None:
        return self._held.get(key)

    def put(self, key: Key, raw: Mapping[str, Any]) -> bool:
        """The newest resourceVersion wins. False when this one was known already, or is older."""
        held = self._held.get(key)
        if held is not None and _version(held) >= _version(raw):
            return False
        self._held[key] = raw
        return True

    def drop(self, key: Key, uid: str) -> None:
        """Unless the name is another job's by now."""
        held = self._held.get(key)
        if held is not None and held["metadata"].get("uid") == uid:
            del self._held[key]


def _version(raw: Mapping[str, Any]) -> int:
    return int(raw["metadata"].get("resourceVersion") or 0)
