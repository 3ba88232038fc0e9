"""Keeps what is known of one kind of child, such as pods, by the job that owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from operator import attrgetter
from sys import intern
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct, structs

from trainop.errors import ApiError, Gone
from trainop.kube.follower import Follower, number
from trainop.kube.port import Api, Change, Resource
from trainop.kube.wire import Metadata, Owner
from trainop.model import Key, SeenPod, SeenPodGroup, SeenService

V = TypeVar("V", bound=SeenPod | SeenService | SeenPodGroup)
V_co = TypeVar("V_co", bound=SeenPod | SeenService | SeenPodGroup, covariant=True)

UNCONFIRMED = 10.0
"""Seconds after which a watch should have told of what we have put."""
_name = attrgetter("name")


class Child(Protocol[V_co]):
    """A shape from wire.py."""

    @property
    def metadata(self) -> Metadata: ...

    def seen(self) -> V_co: ...


class _Place(NamedTuple):
    namespace: str
    name: str


class _Held(Struct, Generic[V]):
    version: int
    owner: str
    key: Key
    seen: V
    ours: bool = False
    """We put it, and the watch has not told of it yet."""


class _Family(Struct, Generic[V]):
    """What one owner controls."""

    members: dict[_Place, _Held[V]] = {}
    views: dict[str | None, tuple[V, ...]] = {}


class Cache(Follower[Child[V]]):
    """`wake` is called with the owner when what is seen of a child has changed, other than by `put`.

    What is not newer than the watch's last word is no news: if it is not held, it is gone.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        shape: type[Child[V]],
        *,
        selector: str,
        namespace: str | None = None,
        wake: Callable[[Key], None],
        failed: Callable[[str], None] = lambda plural: None,
    ) -> None:
        super().__init__(api, resource, shape, selector=selector, namespace=namespace, failed=failed)
        self._wake = wake
        self._held: dict[_Place, _Held[V]] = {}
        self._families: dict[str, _Family[V]] = {}
        self._unconfirmed: dict[_Place, float] = {}
        """What is `ours`, and since when, by the loop's time."""
        self._expected: dict[_Place, str] = {}
        """What we have asked for, and the owner it is to have: the watch may tell of it before the answer does."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._confirm())

    async def _confirm(self) -> None:
        """What no watch tells of is asked for, once: it may be gone, or have lost the label that it is watched by."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(UNCONFIRMED)
            late = [place for place, since in self._unconfirmed.items() if since <= loop.time() - UNCONFIRMED]
            for place in late:
                uid = self._held[place].seen.uid if place in self._held else ""
                try:
                    found, news = await self._api.get(self.resource, *place, self._shape), set[Key]()
                except Gone:
                    self.forget(*place, uid)
                except ApiError:
                    continue  # and asked for the next time
                else:
                    self._hold(found, news)
                    self._tell(news)
                self._unconfirmed.pop(place, None)

    def __len__(self) -> int:
        return len(self._held)

    def of(self, owner_uid: str, namespace: str | None = None) -> tuple[V, ...]:
        """What that owner controls, by name. Children live in the owner's namespace: who names it is not
        fooled by a forged reference in another one."""
        family = self._families.get(owner_uid)
        if family is None:
            return ()
        view = family.views.get(namespace)
        if view is None:
            here = (
                held.seen for place, held in family.members.items() if namespace in (None, place.namespace)
            )
            view = family.views[namespace] = tuple(sorted(here, key=_name))
        return view

    def expect(self, namespace: str, name: str, owner_uid: str) -> None:
        """While we ask for it to be made, that it is there is no news. Of two who ask for one name the last counts:
        the other one hears of it, and looks once more than needed."""
        self._expected[_Place(namespace, name)] = owner_uid

    def expect_no_more(self, namespace: str, name: str) -> None:
        self._expected.pop(_Place(namespace, name), None)

    def put(self, child: Child[V]) -> None:
        """What the answer to a request of ours says."""
        if number(child.metadata.resource_version) > self._version:
            self._hold(child, set(), ours=True)

    def mark_deleting(self, namespace: str, name: str, uid: str) -> None:
        """We have deleted it; show that before the watch tells."""
        held = self._held.get(_Place(namespace, name))
        if held is not None and held.seen.uid == uid:
            self._show(held, structs.replace(held.seen, deleting=True))

    def forget(self, namespace: str, name: str, uid: str) -> None:
        """It turned out not to be there."""
        place = _Place(namespace, name)
        held = self._held.get(place)
        if held is not None and held.seen.uid == uid:
            self._tell({self._drop(place, held)})

    def _version_of(self, item: Child[V]) -> str:
        return item.metadata.resource_version

    def _take_all(self, items: Sequence[Child[V]], version: int, *, restored: bool) -> None:
        if restored:
            for held in self._held.values():
                held.version = 0
        news: set[Key] = set()
        for child in items:
            self._hold(child, news)
        listed = {_place(child.metadata) for child in items}
        missing = [(p, h) for p, h in self._held.items() if p not in listed and h.version <= version]
        news.update(self._drop(place, held) for place, held in missing)
        self._tell(news)

    def _take(self, change: Change[Child[V]]) -> None:
        child, news = change.object, set[Key]()
        if change.type == "DELETED":
            place = _place(child.metadata)
            held = self._held.get(place)
            if held is not None and held.seen.uid == child.metadata.uid:
                news.add(self._drop(place, held))
        else:
            self._hold(child, news, fresh=change.type == "ADDED")
        self._tell(news)

    def _hold(self, child: Child[V], news: set[Key], *, fresh: bool = False, ours: bool = False) -> None:
        """Hold it if it is newer than what is held; add to `news` whom that concerns.

        What we have put comes back from the watch. It is news then unless it is still `fresh`, just as it was
        made: nobody has looked at it since.
        """
        meta = child.metadata
        place, version, owner = _place(meta), number(meta.resource_version), meta.owner
        held = self._held.get(place)
        if held is not None and version >= held.version and held.ours and not ours:
            held.ours = False
            self._unconfirmed.pop(place, None)
            if not fresh:
                news.add(held.key)
        if held is not None and version <= held.version:
            return
        if held is not None and (owner is None or owner.uid != held.owner):
            news.add(self._drop(place, held))
            held = None
        if owner is None:
            return
        seen = child.seen()
        if ours:
            self._unconfirmed[place] = asyncio.get_running_loop().time()
        if held is None:
            key = self._add(place, version, owner, seen, ours=ours)
            if not fresh or self._expected.get(place) != owner.uid:
                news.add(key)
            return
        held.version, held.ours = version, ours
        if held.seen.deleting and held.seen.uid == seen.uid and not seen.deleting:
            # Nothing comes back from that: the line is older than our own delete.
            seen = structs.replace(seen, deleting=True)
        if seen != held.seen:
            self._show(held, seen)
            news.add(held.key)

    def _add(self, place: _Place, version: int, owner: Owner, seen: V, *, ours: bool) -> Key:
        family = self._families.setdefault(owner.uid, _Family())
        sibling = next(iter(family.members.values()), None)
        key = owner.key(place.namespace)
        if sibling is not None and sibling.key == key:
            key = sibling.key
        uid = sibling.owner if sibling is not None else owner.uid
        self._held[place] = family.members[place] = _Held(version, uid, key, seen, ours)
        family.views.clear()
        return key

    def _show(self, held: _Held[V], seen: V) -> None:
        held.seen = seen
        self._families[held.owner].views.clear()

    def _drop(self, place: _Place, held: _Held[V]) -> Key:
        family = self._families[held.owner]
        del self._held[place], family.members[place]
        self._unconfirmed.pop(place, None)
        family.views.clear()
        if not family.members:
            del self._families[held.owner]
        return held.key

    def _tell(self, news: set[Key]) -> None:
        for key in news:
            self._wake(key)


def _place(meta: Metadata) -> _Place:
    return _Place(intern(meta.namespace), meta.name)
