"""docs/adding-a-framework.md, followed word by word in a fresh environment, ends with a job that has succeeded."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.outside import fresh
from tests.outside.fresh import ROOT
from trainop.framework import Framework

pytestmark = pytest.mark.thorough

GUIDE = (ROOT / "docs" / "adding-a-framework.md").read_text()
END = "--- end of"


class Typed(NamedTuple):
    """A command, and what the guide says it prints."""

    command: str
    printed: str


class File(NamedTuple):
    path: str
    text: str


def steps(guide: str) -> list[Typed | File]:
    """All snippets in order. A file is named last before its text."""
    found: list[Typed | File] = []
    for before, language, text in re.findall(r"(.*?)^```(\w*)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        if language == "console":
            typed = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
            found += [Typed(command, printed) for command, printed in typed]
        else:
            assert language in ("python", "yaml"), f"who runs a snippet of {language!r}?"
            found.append(File(re.findall(r"`([^`]+)`", before)[-1], text))
    return found


def fits(shown: str, printed: str) -> bool:
    """A line `...` stands for any number of lines, `... ` before a line for the beginning of it."""
    pattern = ""
    for line in shown.splitlines():
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            begun = line.startswith("... ")
            pattern += (".*" if begun else "") + re.escape(
                line.removeprefix("... ").lstrip() if begun else line
            )
            pattern += r"\n"
    return re.fullmatch(pattern, printed) is not None


def follow(folder: Path, wheels: Path, script: list[Typed | File]) -> list[str]:
    """What each command has printed, all of them typed into one shell."""
    lines = ["set -eo pipefail"]
    for number, step in enumerate(script):
        if isinstance(step, File):
            (folder / "written").mkdir(exist_ok=True)
            (folder / "written" / str(number)).write_text(step.text)
            lines.append(f"cp written/{number} {step.path}")
        else:
            lines += [step.command, f"echo '{END} {number}'"]
    env = {**fresh.surroundings(wheels), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(  # noqa: S603 - our own guide
        [bash, "-c", "\n".join(lines)], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.split(rf"{END} \d+\n", done.stdout)[:-1]


def test_every_snippet_does_what_is_written_and_the_last_job_has_succeeded(
    tmp_path: Path, wheels: Path
) -> None:
    fresh.checkout(tmp_path / "trainop")
    script = steps(GUIDE)
    printed = follow(tmp_path, wheels, script)
    typed = [step for step in script if isinstance(step, Typed)]
    for step, output in zip(typed, printed, strict=True):
        assert fits(step.printed, output), f"{step.command} printed\n{output}\nnot\n{step.printed}"
    assert "Succeeded" in next(
        out for step, out in zip(typed, printed, strict=True) if " run " in step.command
    )
    assert "name: relayjobs.relay.example.com\n" in (tmp_path / "relay-crd.yaml").read_text()


def test_the_table_of_the_contract_names_every_field_of_it() -> None:
    table = GUIDE.partition("## The contract")[2].partition("\n## ")[0]
    told = {
        word
        for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for word in re.findall(r"`(\w+)", cell)
    }
    assert told - {"Framework"} == set(Framework.__dataclass_fields__)


@pytest.mark.parametrize(
    ("shown", "printed", "so"),
    [
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\nz\n", "a\nz\n", True),
        ("a\n...\nz\n", "a\nb\n", False),
        ("... job  done\n", "12:00  job  done\n", True),
        ("... job  done\n", "12:00  job  failed\n", False),
        ("a\n", "a\nb\n", False),
        ("", "", True),
    ],
)
def test_what_is_left_out_may_be_anything_and_the_rest_must_be_there(
    shown: str, printed: str, so: bool
) -> None:
    assert fits(shown, printed) is so
