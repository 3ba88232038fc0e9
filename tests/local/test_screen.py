"""What a person sees on a terminal of any width, and what Ctrl-C does there."""

from __future__ import annotations

import re

import pytest

from tests.local.runs import FOREVER, Desk, Terminal, role, tfjob

pytestmark = pytest.mark.thorough
LONG = "print('a long line ' * 40)"
COMMAND = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def rows(text: str) -> list[str]:
    return COMMAND.sub("", text.replace("\r", "\n")).split("\n")


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_fits_the_terminal(desk: Desk, width: int) -> None:
    desk.write(tfjob(Chief=role(f"{LONG}; import time; time.sleep(1)"), Worker=role(FOREVER, replicas=2)))
    terminal = Terminal(desk, width)
    text = terminal.read()
    assert terminal.end() == 0
    _, *shown = text.split("LAST LOG LINE")  # what stands before may have a path, which is not folded
    assert len(shown) > 1
    assert max(len(row) for part in shown for row in rows(part)) <= width
    last = rows(text)[-30:]
    assert any(re.match(r"chief +0 +succeeded +0 +\d+s +a long line .*…", row) for row in last), last
    assert any(row.startswith("TFJob job  Succeeded") for row in last), last


def test_ctrl_c_on_a_terminal_stops_the_run(desk: Desk) -> None:
    desk.write(tfjob(Chief=role(FOREVER)))
    terminal = Terminal(desk, 80)
    terminal.read(lambda seen: "ready" in seen)
    terminal.press(b"\x03")
    text = terminal.read()
    assert terminal.end() == 130
    assert "interrupted: all members have been stopped" in text
    assert re.search(r"chief +0 +stopped +143", COMMAND.sub("", text))


def test_what_a_job_leaves_running_runs_on_until_ctrl_c_where_that_is_asked_for(desk: Desk) -> None:
    desk.write(tfjob(policy={"cleanPodPolicy": "None"}, Chief=role("print('hello')"), PS=role(FOREVER)))
    terminal = Terminal(desk, 80, "--keep")
    terminal.read(lambda seen: "Succeeded" in seen and "ready" in seen)
    terminal.press(b"\x03")
    assert terminal.end() == 0


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_who_wants_no_colour_gets_lines(desk: Desk, variable: str) -> None:
    desk.write(tfjob(Chief=role("print('hello')")))
    terminal = Terminal(desk, 80, **{variable: "1"})
    text = terminal.read()
    assert terminal.end() == 0
    assert "LAST LOG LINE" not in text
    assert "chief-0  started" in text
    if variable == "NO_COLOR":
        assert "\x1b" not in text


def test_the_names_of_members_are_coloured_on_a_terminal(desk: Desk) -> None:
    desk.write(tfjob(Chief=role("print('hello')")))
    terminal = Terminal(desk, 80, "--tail")
    text = terminal.read()
    assert terminal.end() == 0
    assert "\x1b[36mchief-0\x1b[0m | hello" in text
