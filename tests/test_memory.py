"""What only the API server in memory does, beside what the scenarios hold it to; and following a kind on it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainop.errors import Conflict, Gone
from trainop.kube import memory
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.local.changes import changes


async def put(api: Memory, name: str, **metadata: Any) -> Raw:
    return await api.create(PODS, "default", {"metadata": {"name": name, **metadata}}, dict)


async def test_old_changes_are_forgotten_and_a_watch_from_before_hears_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "REMEMBERED", 3)
    api = Memory()
    for number in range(8):
        await put(api, f"p{number}")
    with pytest.raises(Gone):
        await anext(api.watch(PODS, dict, since="1"))
    heard = api.watch(PODS, dict, since="5")
    assert [(await anext(heard)).object["metadata"]["name"] for _ in range(3)] == ["p5", "p6", "p7"]


async def test_one_that_follows_a_kind_hears_of_what_ended_while_the_watch_was_away() -> None:
    api = Memory()
    await put(api, "stays")
    await put(api, "goes")
    heard = changes(api, PODS)
    first = [await anext(heard) for _ in range(2)]
    assert {(c.type, c.object["metadata"]["name"]) for c in first} == {("ADDED", "stays"), ("ADDED", "goes")}
    await api.remove(PODS, "default", "goes")
    await api.patch(PODS, "default", "stays", {"spec": {"nodeName": "n"}}, dict)
    await api.forget_history()
    missed = [await anext(heard) for _ in range(2)]
    assert {(c.type, c.object["metadata"]["name"]) for c in missed} == {
        ("DELETED", "goes"),
        ("MODIFIED", "stays"),
    }
    await put(api, "new")
    assert (await anext(heard)).object["metadata"]["name"] == "new"


async def test_what_is_owned_goes_with_its_owner_but_a_pod_on_a_node_in_its_own_time() -> None:
    api = Memory()
    owner: Raw = await api.create(SERVICES, "default", {"metadata": {"name": "owner"}}, dict)
    uid = owner["metadata"]["uid"]
    reference = [{"apiVersion": "v1", "kind": "Service", "name": "owner", "uid": uid}]
    await put(api, "waiting", ownerReferences=reference)
    await put(api, "running", ownerReferences=reference)
    await api.patch(PODS, "default", "running", {"spec": {"nodeName": "n"}}, dict)
    await api.delete(SERVICES, "default", "owner", uid)
    (left,) = (await api.list(PODS, dict)).items
    assert left["metadata"]["name"] == "running"
    assert "deletionTimestamp" in left["metadata"]


async def test_only_the_one_with_that_uid_is_removed() -> None:
    api = Memory()
    await put(api, "p")
    with pytest.raises(Conflict):
        await api.remove(PODS, "default", "p", "another")
    assert len((await api.list(PODS, dict)).items) == 1


async def test_a_name_is_made_of_its_beginning() -> None:
    api = Memory()
    made: Raw = await api.create(PODS, "default", {"metadata": {"generateName": "job-"}}, dict)
    assert made["metadata"]["name"].startswith("job-")
    assert len(made["metadata"]["name"]) == len("job-") + 5


async def test_many_watches_hear_every_change_once_and_in_order() -> None:
    api = Memory()

    async def names(number: int) -> list[str]:
        watch = api.watch(PODS, dict, since="0")
        return [(await anext(watch)).object["metadata"]["name"] for _ in range(number)]

    listeners = [asyncio.create_task(names(50)) for _ in range(5)]
    for number in range(50):
        await put(api, f"p{number:02}")
    assert await asyncio.gather(*listeners) == [[f"p{number:02}" for number in range(50)]] * 5
