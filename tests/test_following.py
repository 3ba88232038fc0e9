"""Looking again and again: a server that is silent for a while is asked again, and told of once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.builders import a_status
from tests.explain.scenes import a_scene
from trainop.cli import following
from trainop.errors import Gone, Unreachable
from trainop.explain.evidence import Evidence

NEW = a_scene(Worker=1)
RUNS = a_scene(status=a_status("Created", "Running"), Worker=1)
SILENCE = Unreachable("the API server\ndid not answer in time")


def seeing(*answers: Evidence | Exception) -> Callable[[], Awaitable[Evidence]]:
    """What is to be seen at each look; the job is gone after that."""
    left = iter(answers)

    async def look() -> Evidence:
        answer = next(left, Gone("it is not there"))
        if isinstance(answer, Exception):
            raise answer
        return answer

    return look


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SHORTEST", 0.0)
    monkeypatch.setattr(following, "LONGEST", 0.0)


async def test_silence_is_told_once_and_outlasted(capsys: pytest.CaptureFixture[str]) -> None:
    look = seeing(NEW, SILENCE, SILENCE, RUNS)
    assert [seen async for seen in following.looks(look)] == [NEW, RUNS, None]
    assert capsys.readouterr().err == "trainop: the API server did not answer in time; asking again\n"


async def test_silence_at_the_first_look_is_the_end() -> None:
    with pytest.raises(Unreachable):
        await anext(following.looks(seeing(SILENCE, NEW)))


@pytest.mark.parametrize(("one", "other", "same"), [(NEW, NEW, True), (NEW, RUNS, False)])
def test_time_alone_is_no_change(one: Evidence, other: Evidence, same: bool) -> None:
    assert following.same(one, other) is same
