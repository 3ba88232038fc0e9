"""Follows all objects of one kind: lists, watches, and lists again when a watch is lost."""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from trainop.errors import ApiError, Gone, Refused, Unreachable
from trainop.kube.port import Api, Change, Resource

T = TypeVar("T")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0  # seconds
log = logging.getLogger(__name__)


class Follower(ABC, Generic[T]):
    """Everything a watch tells is in the order of resource versions: `_version` is that of its last word."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        shape: type[T],
        *,
        selector: str = "",
        namespace: str | None = None,
        failed: Callable[[str], None] = lambda plural: None,
    ) -> None:
        """`failed` is told of each watch that ends with an error."""
        self.resource, self._failed = resource, failed
        self.where = f"{resource.plural} of {namespace}" if namespace else resource.plural
        self._api, self._shape = api, shape
        self._selector, self._namespace = selector, namespace
        self._version = 0
        self._listed = False
        self.synced = asyncio.Event()
        self.answered = asyncio.Event()
        """Whether there is such a kind for us is known."""
        self.refusal = ""
        """Why there is not, or not any more, as the API server says it."""
        self.last_heard = float("-inf")
        """The loop's time of the last list or line."""

    @abstractmethod
    def _version_of(self, item: T) -> str: ...

    @abstractmethod
    def _take_all(self, items: Sequence[T], version: int, *, restored: bool) -> None:
        """What there is now. `restored`: the cluster is an older copy of itself, and no version from before means
        anything any more."""

    @abstractmethod
    def _take(self, change: Change[T]) -> None:
        """Any change but a bookmark."""

    async def run(self) -> None:
        """Until cancelled."""
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            pause, started, told = 0.0, loop.time(), self._version
            try:
                if not self._listed:
                    await self._list()
                    started, told = loop.time(), self._version
                await self._watch()
            except Gone as error:
                self._listed = False
                self._failed(self.resource.plural)
                level = logging.WARNING if self.refusal and failures == 0 else logging.DEBUG
                log.log(level, "watching %s: %s; trying again", self.where, error)
            except ApiError as error:
                pause = error.retry_after or 0.0
                self.refusal = str(error) if isinstance(error, Refused) else self.refusal
                self._failed(self.resource.plural)
                if failures == 0:
                    log.warning("watching %s: %s; trying again", self.where, error)
            lasted = loop.time() - started > _LONGEST_PAUSE
            failures = 0 if lasted or self._version > told else failures + 1
            await asyncio.sleep(max(pause, _pause(failures)))

    async def _list(self) -> None:
        try:
            listing = await self._api.list(
                self.resource, self._shape, namespace=self._namespace, selector=self._selector
            )
        except (Gone, Refused) as error:
            self.refusal = str(error)
            self.answered.set()
            raise
        self.refusal = ""
        self.answered.set()
        version = number(listing.resource_version)
        restored, self._version = version < self._version, version
        self._take_all(listing.items, version, restored=restored)
        self._listed = True
        self.synced.set()
        self.last_heard = asyncio.get_running_loop().time()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        async for change in self._api.watch(
            self.resource,
            self._shape,
            since=str(self._version),
            namespace=self._namespace,
            selector=self._selector,
        ):
            version = number(self._version_of(change.object))
            if version < self._version:
                raise Gone(f"the watch went back from version {self._version} to {version}")
            self._version, self.refusal = version, ""
            if change.type != "BOOKMARK":
                self._take(change)
            self.last_heard = loop.time()


def number(version: str) -> int:
    try:
        return int(version)
    except ValueError:
        raise Unreachable("the API server gave a resourceVersion that is no number") from None


def _pause(failures: int) -> float:
    """Nothing, then longer each time, and never the same for all who wait."""
    if failures == 0:
        return 0.0
    longest = min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2.0 ** min(failures - 1, 16))
    return longest * random.uniform(0.5, 1)  # noqa: S311 - no secret
