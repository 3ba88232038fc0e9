"""One cache for each namespace that is served, or one for all of them, asked as if they were one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import Generic

from trainop.errors import Temporary
from trainop.kube.cache import Cache, Child, V
from trainop.kube.port import Api, Resource
from trainop.model import Key


class Caches(Generic[V]):
    def __init__(
        self,
        api: Api,
        resource: Resource,
        shape: type[Child[V]],
        *,
        selector: str,
        namespaces: Collection[str] = (),
        wake: Callable[[Key], None],
        failed: Callable[[str], None] = lambda plural: None,
    ) -> None:
        """No namespaces: all of them. `failed` is told of each watch that ends with an error."""
        self.resource = resource
        self._caches: dict[str | None, Cache[V]] = {
            namespace: Cache(
                api, resource, shape, selector=selector, namespace=namespace, wake=wake, failed=failed
            )
            for namespace in (namespaces or (None,))
        }

    def __iter__(self) -> Iterator[Cache[V]]:
        return iter(self._caches.values())

    async def filled(self) -> None:
        """Of several namespaces, one in which nothing may be listed does not keep the others waiting."""
        for cache in self:
            await (cache.answered if len(self._caches) > 1 else cache.synced).wait()

    def of(self, owner_uid: str, namespace: str) -> tuple[V, ...]:
        return self._at(namespace).of(owner_uid, namespace)

    def check(self, namespace: str) -> None:
        """Raises Temporary where it is not known yet what is there."""
        cache = self._at(namespace)
        if not cache.synced.is_set():
            raise Temporary(f"{cache.where} have not been listed yet{cache.refusal and ': ' + cache.refusal}")

    def refusal(self, namespace: str) -> str:
        return self._at(namespace).refusal

    def expect(self, namespace: str, name: str, owner_uid: str) -> None:
        self._at(namespace).expect(namespace, name, owner_uid)

    def expect_no_more(self, namespace: str, name: str) -> None:
        self._at(namespace).expect_no_more(namespace, name)

    def put(self, child: Child[V]) -> None:
        self._at(child.metadata.namespace).put(child)

    def mark_deleting(self, namespace: str, name: str, uid: str) -> None:
        self._at(namespace).mark_deleting(namespace, name, uid)

    def forget(self, namespace: str, name: str, uid: str) -> None:
        self._at(namespace).forget(namespace, name, uid)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache in self:
                group.create_task(cache.run())

    def _at(self, namespace: str) -> Cache[V]:
        return self._caches[None if None in self._caches else namespace]
