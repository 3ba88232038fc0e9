"""A mistake in trainop itself: one line for people, and all of it for whoever wants to mend it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from trainop import cli
from trainop.cli import version


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(output: str) -> None:
        raise ZeroDivisionError("nobody has thought of that")

    monkeypatch.setattr(version.command, "callback", command)


def told(**environment: str) -> Result:
    return CliRunner().invoke(cli.main, ["version"], env=environment)


@pytest.mark.usefixtures("broken")
def test_it_is_one_line_that_says_whose_it_is_and_what_to_do() -> None:
    result = told()
    assert result.exit_code == cli.BUG
    assert result.stderr.startswith(
        "trainop: this is a mistake in trainop, not yours: ZeroDivisionError: nobody has thought of that "
        "(test_mistakes_of_ours.py, line "
    )
    assert result.stderr.endswith("Please report it with what TRAINOP_TRACEBACK=1 shows\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("broken")
def test_all_of_it_is_shown_to_who_asks_for_it() -> None:
    assert isinstance(told(TRAINOP_TRACEBACK="1").exception, ZeroDivisionError)
