"""Kill the operator before or after any single write: the end is that of the undisturbed run. In memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.crash_stories import GANGS, OLDER, PLAINEST, Story, a_cast, crash_at_every_write
from tests.scenarios.casting import PARTS
from tests.scenarios.quota import Strict
from tests.scenarios.stage import Stage

# The engine is the same for all kinds: one plays every story, the others one with a restart.
PLAYED = [("TFJob", story) for story in PLAINEST + GANGS] + [
    (kind, PLAINEST[4]) for kind in PARTS if kind != "TFJob"
]
PLAYED += [(kind, story) for kind in ("TfJob.tensorflow.org", "MxJob.mlkube.io") for story in OLDER]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "story"), PLAYED, ids=lambda value: getattr(value, "__name__", value))
async def test_a_crash_at_any_write_changes_nothing(kind: str, story: Story) -> None:
    cast = a_cast(kind)

    @asynccontextmanager
    async def stages() -> AsyncIterator[Stage]:
        yield Stage(Strict(), "default", cast, "story")

    await crash_at_every_write(story, stages)
