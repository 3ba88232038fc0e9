"""What the cache holds after whatever a watch may tell, and whom it wakes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, TypeVar, cast

import msgspec
import pytest

from trainop.errors import Gone, Unreachable
from trainop.kube import follower, wire
from trainop.kube.cache import Cache
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Change, Listing, Resource
from trainop.model import GVK, Key, SeenPod

T = TypeVar("T")
Type = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
MNIST = Key(GVK("kubeflow.org", "v1", "TFJob"), "ns", "mnist")
OTHER = Key(GVK("kubeflow.org", "v1", "TFJob"), "ns", "other")


def owned_by(key: Key) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": key.gvk.api_version,
            "kind": key.gvk.kind,
            "name": key.name,
            "uid": f"u-{key.name}",
            "controller": True,
        }
    ]


def pod(
    name: str, version: int, phase: str = "Pending", *, uid: str = "", owner: Key | None = MNIST, **more: Any
) -> wire.Pod:
    metadata = {"namespace": "ns", "name": name, "uid": uid or f"u-{name}", "resourceVersion": str(version)}
    metadata |= {"ownerReferences": owned_by(owner) if owner else []} | more
    return msgspec.convert({"metadata": metadata, "status": {"phase": phase}}, wire.Pod)


def line(type_: Type, name: str, version: int, *args: Any, **more: Any) -> Change[wire.Pod]:
    return Change(type_, pod(name, version, *args, **more))


def listing(version: int, *pods: wire.Pod) -> Listing[wire.Pod]:
    return Listing(list(pods), str(version))


Stream = Sequence[Change[wire.Pod] | Exception]


class Script(Memory):
    """Lists and streams as written down. The last stream stays open, and then `played` is set."""

    def __init__(
        self, lists: Sequence[Listing[wire.Pod] | Exception], streams: Sequence[Stream] = ()
    ) -> None:
        super().__init__()
        self._lists, self._streams = deque(lists), deque(streams)
        self.since: list[str] = []
        self.played = asyncio.Event()

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]:
        answer = self._lists.popleft()
        if isinstance(answer, Exception):
            raise answer
        return cast(Listing[T], answer)

    async def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[Change[T]]:
        self.since.append(since)
        for step in self._streams.popleft() if self._streams else ():
            if isinstance(step, Exception):
                raise step
            yield cast(Change[T], step)
        if not self._streams:
            self.played.set()
            await asyncio.Event().wait()


class Watched:
    """A cache of pods with a list of whom it woke."""

    def __init__(self, api: Memory, selector: str = "") -> None:
        self.woken: list[Key] = []
        self.cache: Cache[SeenPod] = Cache(api, PODS, wire.Pod, selector=selector, wake=self._wake)
        self._news = asyncio.Event()

    def _wake(self, key: Key) -> None:
        self.woken.append(key)
        self._news.set()

    @property
    def shown(self) -> dict[str, str]:
        """Name and phase of mnist's pods, in the order in which they are given."""
        return {seen.name: "deleting" if seen.deleting else seen.phase for seen in self.cache.of("u-mnist")}

    async def until(self, shown: dict[str, str]) -> None:
        async with asyncio.timeout(20):
            while self.shown != shown:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def running(cache: Cache[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def play(
    *lists: Listing[wire.Pod] | Exception, streams: Sequence[Stream] = ()
) -> tuple[Watched, Script]:
    """Run a cache over the script to its end."""
    script = Script(lists, streams)
    watched = Watched(script)
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    return watched, script


# --- listing and watching -------------------------------------------------------------------------------------


async def test_a_list_fills_the_cache_in_the_order_of_names_and_wakes_each_owner_once() -> None:
    watched, script = await play(
        listing(9, pod("b", 5), pod("a", 7, "Running"), pod("c", 6, owner=OTHER), pod("d", 8, owner=None))
    )
    assert list(watched.shown.items()) == [("a", "Running"), ("b", "Pending")]
    assert sorted(watched.woken) == [MNIST, OTHER]
    assert watched.cache.synced.is_set()
    assert watched.cache.last_heard <= asyncio.get_running_loop().time()
    assert script.since == ["9"]


async def test_an_owner_without_children_has_none() -> None:
    watched, _ = await play(listing(1))
    assert watched.cache.of("u-mnist") == ()


async def test_each_line_changes_what_is_shown() -> None:
    stream = [
        line("ADDED", "a", 2),
        line("ADDED", "b", 3),
        line("MODIFIED", "a", 4, "Running"),
        line("DELETED", "b", 5),
    ]
    watched, _ = await play(listing(1), streams=[stream])
    assert watched.shown == {"a": "Running"}
    assert watched.woken == [MNIST] * 4


async def test_a_change_of_nothing_that_is_looked_at_wakes_nobody() -> None:
    stream = [line("MODIFIED", "a", 2, annotations={"x": "y"}), line("BOOKMARK", "", 9)]
    watched, _ = await play(listing(1, pod("a", 1)), streams=[stream])
    assert watched.woken == [MNIST]


async def test_a_list_after_a_loss_is_compared_with_what_is_held() -> None:
    before = listing(5, pod("a", 1), pod("b", 2), pod("c", 3, owner=OTHER))
    after = listing(9, pod("a", 1), pod("c", 3, owner=OTHER))
    watched, _ = await play(before, after, streams=[[Gone("too old", code=410)]])
    assert watched.shown == {"a": "Pending"}
    assert watched.woken.count(MNIST) == 2  # for b, which is missing, not for a
    assert watched.woken.count(OTHER) == 1


@pytest.mark.parametrize("end", [[], [Unreachable("connection reset")], [Unreachable("500", code=500)]])
async def test_a_stream_that_ends_is_resumed_where_it_ended(end: list[Exception]) -> None:
    first: Stream = [line("ADDED", "a", 3), line("BOOKMARK", "", 8), *end]
    watched, script = await play(listing(1), streams=[first, [line("ADDED", "b", 9)]])
    assert script.since == ["1", "8"]
    assert watched.shown == {"a": "Pending", "b": "Pending"}


async def test_a_list_that_fails_is_tried_again() -> None:
    watched, _ = await play(Unreachable("503"), Gone("404"), listing(4, pod("a", 4)))
    assert watched.shown == {"a": "Pending"}


async def test_a_version_that_is_no_number_is_trouble_and_not_the_end() -> None:
    watched, _ = await play(Listing([], "x"), listing(4, pod("a", 4)))
    assert watched.shown == {"a": "Pending"}


async def test_a_stream_out_of_order_is_not_trusted() -> None:
    backwards = [line("DELETED", "a", 6), line("MODIFIED", "a", 5)]
    watched, script = await play(listing(4, pod("a", 4)), listing(7), streams=[backwards])
    assert watched.shown == {}
    assert script.since == ["4", "7"]


async def test_a_line_that_comes_twice_changes_nothing() -> None:
    twice = [line("ADDED", "a", 2), line("ADDED", "a", 2), line("DELETED", "a", 3), line("DELETED", "a", 3)]
    watched, _ = await play(listing(1), streams=[twice])
    assert watched.shown == {}
    assert watched.woken == [MNIST] * 2


async def test_a_cluster_restored_from_an_older_copy_is_believed() -> None:
    now = listing(50, pod("a", 40, "Running"), pod("b", 45))
    restored = listing(30, pod("a", 20))
    watched, script = await play(
        now, restored, streams=[[Gone("410")], [line("MODIFIED", "a", 31, "Failed")]]
    )
    assert watched.shown == {"a": "Failed"}
    assert script.since == ["50", "30"]


def test_pauses_grow_and_have_a_limit() -> None:
    assert follower._pause(0) == 0
    assert all(0.05 <= follower._pause(1) <= 0.1 for _ in range(50))
    assert all(15 <= follower._pause(failures) <= 30 for failures in (12, 100, 10**6))


# --- owners ---------------------------------------------------------------------------------------------------


async def test_a_child_that_changes_hands_is_told_to_both() -> None:
    watched, _ = await play(
        listing(1, pod("a", 1)),
        streams=[[line("MODIFIED", "a", 2, owner=OTHER), line("MODIFIED", "a", 3, owner=None)]],
    )
    assert sorted(watched.woken) == [MNIST, MNIST, OTHER, OTHER]
    assert watched.cache.of("u-mnist") == watched.cache.of("u-other") == ()


async def test_a_forged_reference_in_another_namespace_fools_nobody_who_asks_for_his_own() -> None:
    watched, _ = await play(
        listing(2, pod("a", 1), pod("a", 2, "Succeeded", uid="u-forged", namespace="evil"))
    )
    assert [seen.uid for seen in watched.cache.of("u-mnist", "ns")] == ["u-a"]


# --- our own writes -------------------------------------------------------------------------------------------


async def test_what_we_made_is_shown_at_once_and_wakes_nobody() -> None:
    watched = Watched(Memory())
    watched.cache.put(pod("a", 3))
    assert watched.shown == {"a": "Pending"}
    assert watched.woken == []


async def test_the_watch_confirming_what_we_made_wakes_nobody() -> None:
    watched = Watched(script := Script([listing(1)], [[line("ADDED", "a", 3)]]))
    watched.cache.put(pod("a", 3))
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.shown == {"a": "Pending"}
    assert watched.woken == []


async def test_what_we_found_instead_of_made_is_news_when_the_watch_gets_there() -> None:
    watched = Watched(script := Script([listing(1)], [[line("MODIFIED", "a", 3, "Succeeded")]]))
    watched.cache.put(pod("a", 3, "Succeeded"))
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.woken == [MNIST]


async def test_a_line_older_than_what_we_put_is_ignored() -> None:
    watched = Watched(script := Script([listing(1)], [[line("MODIFIED", "a", 3)]]))
    watched.cache.put(pod("a", 4, "Running"))
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.shown == {"a": "Running"}


async def test_a_list_older_than_what_we_put_does_not_remove_it() -> None:
    watched = Watched(script := Script([listing(5)]))
    watched.cache.put(pod("a", 6))
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.shown == {"a": "Pending"}


async def test_what_was_deleted_meanwhile_does_not_come_back_by_a_late_answer() -> None:
    watched, _ = await play(listing(1), streams=[[line("ADDED", "a", 2), line("DELETED", "a", 3)]])
    watched.cache.put(pod("a", 2))
    assert watched.shown == {}


async def test_what_came_and_went_between_two_lists_does_not_come_back_either() -> None:
    watched, _ = await play(listing(10))
    watched.cache.put(pod("a", 7))
    assert watched.shown == {}


async def test_a_new_pod_of_the_same_name_outlives_the_end_of_the_old_one() -> None:
    watched = Watched(script := Script([listing(1, pod("a", 1))], [[line("DELETED", "a", 2)]]))
    watched.cache.put(pod("a", 3, uid="u-new"))
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert [seen.uid for seen in watched.cache.of("u-mnist")] == ["u-new"]


async def test_what_we_deleted_is_shown_as_going_even_when_older_lines_come() -> None:
    watched = Watched(script := Script([listing(1)], [[line("MODIFIED", "a", 4, "Running")]]))
    watched.cache.put(pod("a", 3))
    watched.cache.mark_deleting("ns", "a", "u-a")
    assert watched.shown == {"a": "deleting"}
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.shown == {"a": "deleting"}


async def test_the_end_of_what_we_deleted_wakes_its_owner() -> None:
    watched = Watched(script := Script([listing(1)], [[line("ADDED", "a", 3), line("DELETED", "a", 4)]]))
    watched.cache.put(pod("a", 3))
    watched.cache.mark_deleting("ns", "a", "u-a")
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.shown == {}
    assert watched.woken == [MNIST]


async def test_only_the_object_with_that_uid_is_marked_or_forgotten() -> None:
    watched = Watched(Memory())
    watched.cache.put(pod("a", 3))
    watched.cache.mark_deleting("ns", "a", "u-older")
    watched.cache.forget("ns", "a", "u-older")
    watched.cache.forget("ns", "b", "u-b")
    assert watched.shown == {"a": "Pending"}


async def test_what_turned_out_to_be_gone_is_forgotten_and_its_owner_woken() -> None:
    watched = Watched(Memory())
    watched.cache.put(pod("a", 3))
    watched.cache.forget("ns", "a", "u-a")
    assert watched.shown == {}
    assert watched.woken == [MNIST]


# --- with an API server in memory -----------------------------------------------------------------------------


async def test_a_kind_that_is_not_installed_is_told_and_found_when_it_is() -> None:
    api = Memory()
    api.absent.add(PODS)
    watched = Watched(api)
    async with running(watched.cache), asyncio.timeout(20):
        await watched.cache.answered.wait()
        assert "could not find" in watched.cache.refusal
        assert not watched.cache.synced.is_set()
        api.absent.clear()
        await watched.cache.synced.wait()
        assert watched.cache.refusal == ""


async def test_the_cache_follows_an_api_server() -> None:
    api = Memory()
    watched = Watched(api, selector="app=mnist")
    body = {"metadata": {"name": "a", "labels": {"app": "mnist"}, "ownerReferences": owned_by(MNIST)}}
    async with running(watched.cache):
        await watched.cache.synced.wait()
        made = await api.create(PODS, "ns", body, wire.Pod)
        await watched.until({"a": "Pending"})
        await api.patch(PODS, "ns", "a", {"status": {"phase": "Running"}}, dict, subresource="status")
        await watched.until({"a": "Running"})
        await api.forget_history()
        await api.delete(PODS, "ns", "a", made.metadata.uid)
        await watched.until({})
