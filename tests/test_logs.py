"""What a line of the log is made of: sentences and fields, and tracebacks only of our own mistakes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
import uvloop

from trainop.operator import logs


def a_broken_connection() -> None:
    raise ConnectionResetError("reset by peer")


def trouble_inside_the_loop() -> None:
    loop = uvloop.new_event_loop()
    try:
        loop.call_later("soon", print)  # type: ignore[arg-type]  # the mistake that is wanted
    finally:
        loop.close()


def a_mistake() -> None:
    raise KeyError("role")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def logged(
    capsys: pytest.CaptureFixture[str], form: logs.Format, name: str, cause: Callable[[], None]
) -> str:
    logs.to_stderr(form, "info")
    try:
        cause()
    except Exception:
        logging.getLogger(name).exception("it went\nwrong")
    return capsys.readouterr().err


@pytest.mark.parametrize("cause", [a_broken_connection, trouble_inside_the_loop])
def test_what_a_library_says_of_its_inside_is_one_line(
    capsys: pytest.CaptureFixture[str], cause: Callable[[], None]
) -> None:
    told = logged(capsys, "text", "asyncio", cause)
    assert told.endswith("it went wrong\n")
    assert told.count("\n") == 1


def test_a_mistake_of_ours_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in logged(capsys, "text", "trainop.operator.controller", a_mistake)
    assert "Traceback" in logged(capsys, "text", "trainop.operator.controller", a_broken_connection)
    assert "KeyError" in json.loads(logged(capsys, "json", "asyncio", a_mistake))["error"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_users_wrote_is_no_line_and_no_command_of_its_own(
    capsys: pytest.CaptureFixture[str], form: logs.Format
) -> None:
    """SECURITY, "log and event injection": also what JSON would let through."""
    logs.to_stderr(form, "info")
    words = "küche\nINFO forged\r\x1b[2J\x7f\x9b31m\u2028\u202e"
    logging.getLogger("trainop").info("%s", words, extra={"about": {"job": words, "uid": "u"}})
    told = capsys.readouterr().err
    assert told.endswith("\n")
    assert told[:-1].isprintable()
    if form == "json":
        assert json.loads(told)["message"] == json.loads(told)["job"] == words
