"""What the stages leave out."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.processes import NOT_HERE


def test_what_is_not_played_with_processes_exists() -> None:
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    tests = {
        line.removeprefix("async def ").partition("(")[0]
        for file in files
        for line in file.read_text().splitlines()
        if line.startswith("async def test_")
    }
    known = tests | {file.stem for file in files}
    assert {name.partition("[")[0] for name in NOT_HERE} <= known
