"""Where members are reached."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from trainop.local.ports import BLOCK, Ports
from trainop.model import Member, Topology


@pytest.fixture
def ports() -> Iterator[Ports]:
    found = Ports()
    yield found
    found.close()


def members(number: int) -> Topology:
    made = (Member("Worker", i, f"job-worker-{i}", f"job-worker-{i}.ns.svc", 2222) for i in range(number))
    return Topology({"Worker": tuple(made)})


def test_every_member_has_a_port_of_its_own_on_this_machine(ports: Ports) -> None:
    placed = list(ports.placed(members(BLOCK + 5)))
    assert {(member.address, member.host) for member in placed} == {("127.0.0.1", "127.0.0.1")}
    assert len({member.port for member in placed}) == BLOCK + 5


def test_a_member_keeps_its_port(ports: Ports) -> None:
    first = {member.name: member.port for member in ports.placed(members(2))}
    more = {member.name: member.port for member in ports.placed(members(3))}
    assert first.items() <= more.items()


def test_two_runs_at_a_time_do_not_share_ports_though_nobody_listens_yet(ports: Ports) -> None:
    other = Ports()
    mine, theirs = ports.placed(members(BLOCK - 1)), other.placed(members(BLOCK - 1))
    other.close()
    assert not {member.port for member in mine} & {member.port for member in theirs}


def test_a_port_that_someone_uses_is_not_given_out(ports: Ports) -> None:
    (first,) = ports.placed(members(1))
    with socket.create_server(("127.0.0.1", first.port + 1)):
        second = list(ports.placed(members(2)))[1]
    assert second.port != first.port + 1


def test_a_port_can_be_listened_on(ports: Ports) -> None:
    for member in ports.placed(members(3)):
        socket.create_server((member.address, member.port)).close()
