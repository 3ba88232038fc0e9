"""The lease: one leads, the others wait; who was asleep writes nothing. In memory and on the real server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from trainop.errors import ApiError, Deposed, Unreachable
from trainop.kube.client import Client
from trainop.kube.credentials import load
from trainop.kube.memory import Memory
from trainop.kube.port import Api
from trainop.operator.lease import LEASES, USUAL, Lease, Terms


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Hall:
    """Where operators meet: an API server, and a lease that they all want."""

    def __init__(self, api: Api) -> None:
        self.api, self.clock, self.name = api, Clock(), f"lease-{secrets.token_hex(4)}"

    def operator(self, identity: str, api: Api | None = None) -> Lease:
        return Lease(api or self.api, "default", self.name, identity, clock=self.clock)

    async def turns(self, *leases: Lease) -> list[str]:
        """One turn for each; then, who leads?"""
        for lease in leases:
            await lease._turn()
        return [lease.identity for lease in leases if lease.leading]

    async def holder(self) -> str:
        found = await self.api.get(LEASES, "default", self.name, dict)
        return str(found["spec"].get("holderIdentity") or "")


@pytest.fixture(params=["memory", pytest.param("cluster", marks=pytest.mark.cluster)])
async def hall(request: pytest.FixtureRequest) -> AsyncIterator[Hall]:
    if request.param == "memory":
        yield Hall(Memory())
        return
    cluster = request.getfixturevalue("control_plane")
    async with Client(load(str(cluster.kubeconfig))) as api:
        yield Hall(api)


async def test_the_first_leads_and_the_others_wait(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    told: list[bool] = []
    one.tell = told.append
    assert await hall.turns(one, two) == ["one"]
    assert await hall.turns(two, one) == ["one"]
    assert told == [True]
    assert await hall.holder() == "one"


async def test_a_lease_that_is_given_back_is_taken_at_the_next_turn(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    await hall.turns(one, two)
    await one.release()
    assert await hall.holder() == ""
    assert await hall.turns(two, one) == ["two"]


async def test_a_leader_of_whom_nothing_is_heard_is_waited_for_one_lease_duration(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    await hall.turns(one, two)
    hall.clock.now += USUAL.duration - 1
    assert await hall.turns(two) == []
    hall.clock.now += 2
    assert await hall.turns(two) == ["two"]


async def test_a_leader_that_renews_keeps_the_lease(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    for _ in range(10):
        assert await hall.turns(one, two) == ["one"]
        hall.clock.now += USUAL.duration / 2


async def test_a_leader_that_was_asleep_must_not_write_and_learns_who_leads_now(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    await hall.turns(one, two)
    one.check()
    hall.clock.now += USUAL.duration + 5
    assert await hall.turns(two) == ["two"]
    with pytest.raises(Deposed):
        one.check()
    assert await hall.turns(one) == []
    assert await hall.turns(one, two) == ["two"]


async def test_a_leader_that_was_asleep_and_missed_by_nobody_goes_on(hall: Hall) -> None:
    one = hall.operator("one")
    await hall.turns(one)
    hall.clock.now += 100
    assert await hall.turns(one) == ["one"]
    one.check()


async def test_a_lease_that_someone_deleted_is_made_again(hall: Hall) -> None:
    one = hall.operator("one")
    await hall.turns(one)
    found = await hall.api.get(LEASES, "default", hall.name, dict)
    await hall.api.delete(LEASES, "default", hall.name, found["metadata"]["uid"])
    await hall.turns(one)
    assert await hall.turns(one) == ["one"]
    assert await hall.holder() == "one"


async def test_a_lease_that_someone_deleted_is_its_holders_until_it_would_have_expired(hall: Hall) -> None:
    one, two = hall.operator("one"), hall.operator("two")
    await hall.turns(one, two)
    found = await hall.api.get(LEASES, "default", hall.name, dict)
    await hall.api.delete(LEASES, "default", hall.name, found["metadata"]["uid"])
    one.check()
    assert await hall.turns(two) == []
    hall.clock.now += USUAL.duration + 1
    assert await hall.turns(two, one) == ["two"]


async def test_a_lease_is_never_said_to_last_less_than_its_holder_takes_it_for(hall: Hall) -> None:
    terms = Terms(duration=2.5, renew_deadline=2.2, retry_period=1.0)
    one = Lease(hall.api, "default", hall.name, "one", terms, clock=hall.clock)
    for _ in ("made", "renewed"):
        assert await hall.turns(one) == ["one"]
        found = await hall.api.get(LEASES, "default", hall.name, dict)
        assert found["spec"]["leaseDurationSeconds"] == 3


async def test_a_leader_that_cannot_renew_stops_at_its_deadline_and_not_before(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hall.operator("one")
    await hall.turns(one)

    async def away(*_: object, **__: object) -> None:
        raise Unreachable("the API server is away")

    monkeypatch.setattr(hall.api, "patch", away)
    hall.clock.now += USUAL.renew_deadline - 1
    assert await hall.turns(one) == ["one"]
    hall.clock.now += 2
    assert await hall.turns(one) == []


async def test_a_lease_with_which_something_is_wrong_never_ends_the_process(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hall.operator("one")

    async def refused(*_: object, **__: object) -> None:
        raise ApiError("leases are forbidden", code=403)

    monkeypatch.setattr(hall.api, "get", refused)
    assert await hall.turns(one) == []


async def test_a_lease_that_is_given_back_while_it_is_being_renewed_stays_given_back(hall: Hall) -> None:
    one = hall.operator("one")
    await hall.turns(one)
    renewing = asyncio.create_task(one.run())
    await asyncio.sleep(0)
    await one.release()
    assert await hall.holder() == ""
    await asyncio.wait_for(renewing, 30)
    assert await hall.holder() == ""
