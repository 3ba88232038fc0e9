"""Looking at a job again and again: often while something happens, seldom while nothing does.

Not a watch: to look needs no more rights than to ask once, and a look that is lost costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import click

from trainop.errors import Gone, Unreachable
from trainop.explain.evidence import Evidence

SHORTEST, LONGEST = 0.25, 2.0
"""Seconds between two looks."""
Look = Callable[[], Awaitable[Evidence]]


async def looks(look: Look) -> AsyncIterator[Evidence | None]:
    """What is seen at each look; None, at the end, when the job is not there any more.

    A server that does not answer for a while is told once and asked again: who waits for hours should not have to
    start anew. Only the first look must succeed.
    """
    before, pause, silent = await look(), SHORTEST, False
    yield before
    while True:
        await asyncio.sleep(pause)
        try:
            seen = await look()
        except Gone:
            yield None
            return
        except Unreachable as error:
            if not silent:
                click.echo(f"trainop: {' '.join(str(error).split())}; asking again", err=True)
            silent, pause = True, LONGEST
            continue
        pause = min(LONGEST, pause * 1.5) if same(seen, before) else SHORTEST
        before, silent = seen, False
        yield seen


def same(one: Evidence, other: Evidence) -> bool:
    """Nothing has changed but the time."""
    return one.raw == other.raw and one.pods == other.pods
