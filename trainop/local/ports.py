"""Where members are reached on this machine: loopback, and a free port for each that it keeps."""

from __future__ import annotations

import random
import socket

from msgspec.structs import replace

from trainop.local.recipe import ADDRESS
from trainop.model import Member, Topology

BLOCK = 100
FIRST, LAST = 20_000, 32_700
"""Below what the kernel gives to connections that go out: nothing takes a member's port while it restarts."""


class Ports:
    """Ports come in blocks. The first of a block is held as long as the run lasts, so that two runs that start at
    the same time do not give out the same ones."""

    def __init__(self) -> None:
        self._held: list[socket.socket] = []
        self._free: list[int] = []
        self._given: dict[str, int] = {}

    def placed(self, members: Topology) -> Topology:
        return Topology(
            {role: tuple(map(self._place, of_role)) for role, of_role in members.roles.items()},
        )

    def close(self) -> None:
        for held in self._held:
            held.close()
        self._held.clear()

    def _place(self, member: Member) -> Member:
        if member.name not in self._given:
            self._given[member.name] = self._next()
        return replace(member, address=ADDRESS, host=ADDRESS, port=self._given[member.name])

    def _next(self) -> int:
        while True:
            while not self._free:
                self._claim()
            port = self._free.pop(0)
            if (tried := _bound(port)) is not None:
                tried.close()
                return port

    def _claim(self) -> None:
        blocks = list(range(FIRST, LAST, BLOCK))
        random.shuffle(blocks)
        for first in blocks:
            if (held := _bound(first)) is not None:
                self._held.append(held)
                self._free = list(range(first + 1, first + BLOCK))
                return
        raise OSError(f"no port between {FIRST} and {LAST} is free")


def _bound(port: int) -> socket.socket | None:
    tried = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        tried.bind((ADDRESS, port))
    except OSError:
        tried.close()
        return None
    return tried
