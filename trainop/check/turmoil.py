"""The check of mixed fortunes: members end one after the other, each in its way, and the job must come to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from trainop.check.life import PASSING, PERMANENT, Life, Restless, cast, chosen, restless
from trainop.check.subject import Complaint, Subject
from trainop.framework import Framework
from trainop.model import Job

FORTUNES = ((0, PERMANENT), (PERMANENT, 0), (PASSING, 0, 0), (0, PASSING, PERMANENT))
"""Exit codes of one member after the other, again and again."""


def ends(subject: Subject) -> Iterator[Complaint]:
    for job in chosen(subject):
        for codes in FORTUNES:
            try:
                found = asyncio.run(_end(subject.framework, job, codes))
            except Restless as error:
                yield restless(job, error)
                continue
            if found not in ("Succeeded", "Failed"):
                told = f"{cast(job)}: they end with {', '.join(map(str, codes))} and so on"
                yield Complaint(
                    f"{told}, and the job is {found or 'still running'}",
                    "when every member has ended, outcome must say how the job has",
                )


async def _end(framework: Framework[Any], job: Job[Any], codes: tuple[int, ...]) -> str:
    """The verdict, as soon as there is one, or none although nobody is left."""
    life, turn = Life(framework, job), 0
    await life.begin()
    while (alive := await life.alive()) and not await life.verdict():
        # Now the first, now the last: who is in the way of whom must not matter.
        await life.end(alive[-(turn % 2)], codes[turn % len(codes)])
        await life.settle()
        turn += 1
    return await life.verdict()
