"""Requests in flight: fewer under pressure, more again afterwards, and nobody is forgotten."""

from __future__ import annotations

import asyncio
import time

import pytest

from trainop.kube.pressure import FEWEST, MOST, SLOW, Pressure


def now() -> float:
    return time.monotonic()


@pytest.mark.parametrize("code", [429, 503, 504, 0])
async def test_an_overloaded_server_gets_half_as_many(code: int) -> None:
    pressure = Pressure()
    pressure.answered(code, now())
    assert pressure.limit == MOST / 2


async def test_a_slow_answer_counts_as_overload() -> None:
    pressure = Pressure()
    pressure.answered(201, now() - SLOW - 0.1)
    assert pressure.limit == MOST / 2


async def test_answers_to_what_was_sent_before_the_last_cut_are_no_news() -> None:
    pressure = Pressure()
    sent = now()
    for _ in range(10):
        pressure.answered(429, sent)
    assert pressure.limit == MOST / 2


async def test_a_few_always_go_through_and_good_answers_bring_the_rest_back() -> None:
    pressure = Pressure()
    for _ in range(20):
        pressure.answered(503, now())
    assert pressure.limit == FEWEST
    for _ in range(int(MOST**2)):
        pressure.answered(200, now())
    assert pressure.limit == MOST


@pytest.mark.parametrize("code", [404, 409, 422])
async def test_a_server_that_says_no_is_not_overloaded(code: int) -> None:
    pressure = Pressure()
    pressure.answered(code, now())
    assert pressure.limit == MOST


async def test_no_more_than_the_limit_are_in_flight_and_all_get_their_turn() -> None:
    pressure, in_flight, most, done = Pressure(most=3), 0, 0, 0

    async def request() -> None:
        nonlocal in_flight, most, done
        await pressure.enter("team")
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        pressure.leave()
        done += 1

    await asyncio.gather(*(request() for _ in range(20)))
    assert (most, done) == (3, 20)


async def test_who_gives_up_waiting_takes_no_place() -> None:
    pressure, release = Pressure(most=2), asyncio.Event()

    async def request() -> None:
        await pressure.enter("team")
        await release.wait()
        pressure.leave()

    holders = [asyncio.create_task(request()) for _ in range(2)]
    waiting = [asyncio.create_task(request()) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting[:2]:
        task.cancel()
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    release.set()
    await asyncio.gather(*holders, waiting[2])
    for _ in range(2):
        await asyncio.wait_for(pressure.enter("team"), 10)


async def test_namespaces_that_wait_are_admitted_in_turn() -> None:
    pressure, admitted = Pressure(most=1), list[str]()

    async def request(namespace: str) -> None:
        await pressure.enter(namespace)
        admitted.append(namespace)
        await asyncio.sleep(0)
        pressure.leave()

    asked = ["big"] * 5 + ["small", "other", "small"]
    await asyncio.gather(*map(request, asked))
    assert admitted == ["big", "big", "small", "other", "big", "small", "big", "big"]
