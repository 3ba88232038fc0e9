"""What the watch tells of a child that we are just having made: it may be faster than the answer to our request."""

from __future__ import annotations

import asyncio

import pytest

from tests.test_cache import MNIST, OTHER, Script, Stream, Watched, line, listing, pod, running
from trainop.model import Key


async def played(stream: Stream) -> Watched:
    """The lines of a watch while we wait for the answer, which comes last."""
    watched = Watched(script := Script([listing(2)], [stream]))
    watched.cache.expect("ns", "a", "u-mnist")
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    watched.cache.expect_no_more("ns", "a")
    watched.cache.put(pod("a", 3))
    return watched


async def test_that_it_is_there_is_no_news() -> None:
    watched = await played([line("ADDED", "a", 3)])
    assert (watched.shown, watched.woken) == ({"a": "Pending"}, [])


async def test_what_becomes_of_it_before_the_answer_is_news() -> None:
    watched = await played([line("ADDED", "a", 3), line("MODIFIED", "a", 4, "Running")])
    assert (watched.shown, watched.woken) == ({"a": "Running"}, [MNIST])


@pytest.mark.parametrize(("name", "owner"), [("b", MNIST), ("a", OTHER)])
async def test_what_we_have_not_asked_for_is_news(name: str, owner: Key) -> None:
    watched = await played([line("ADDED", name, 3, owner=owner)])
    assert watched.woken == [owner]


async def test_what_we_wait_for_no_longer_is_news() -> None:
    watched = Watched(script := Script([listing(2)], [[line("ADDED", "a", 3)]]))
    watched.cache.expect("ns", "a", "u-mnist")
    watched.cache.expect_no_more("ns", "a")
    async with running(watched.cache), asyncio.timeout(20):
        await script.played.wait()
    assert watched.woken == [MNIST]


async def test_of_two_who_ask_for_one_name_each_may_wait_no_longer() -> None:
    """A TFJob and an MXJob of the same name, made at the same time."""
    watched = Watched(Script([listing(2)], [[]]))
    for owner in ("u-mnist", "u-other"):
        watched.cache.expect("ns", "a", owner)
    for _ in range(2):
        watched.cache.expect_no_more("ns", "a")
    watched.cache.put(pod("a", 3))
    assert (watched.shown, watched.woken) == ({"a": "Pending"}, [])
