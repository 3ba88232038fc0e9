"""`trainop completion`: the script is one, and completes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trainop.cli import COMMANDS

TRAINOP = Path(sys.executable).with_name("trainop")


def completion(*words: str) -> str:
    command = [str(TRAINOP), "completion", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own command
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("program", ["trainop", "kubectl-trainop"])
def test_the_script_is_taken_by_its_shell(shell: str, program: str) -> None:
    script = completion(shell, "--program", program)
    assert f"{program}" in script
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=script, text=True, check=True)  # noqa: S603 - our own script


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("trainop ", sorted(COMMANDS)),
        ("trainop val", ["validate"]),
        ("trainop ver", ["version"]),
        ("trainop render --gang", ["--gang-scheduler-name"]),
        ("trainop completion z", ["zsh"]),
    ],
)
def test_bash_completes_what_was_begun(line: str, completed: list[str]) -> None:
    words = line.split(" ")
    asked = f"""
        {completion("bash")}
        COMP_WORDS=({" ".join(words)} {"''" if not words[-1] else ""}); COMP_CWORD={len(words) - 1}
        _trainop_completion {TRAINOP}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run([bash, "-c", asked], capture_output=True, text=True, check=True)  # noqa: S603 - as above
    assert sorted(done.stdout.split()) == completed


def test_completing_a_command_imports_none() -> None:
    code = (
        "import sys; from trainop.cli import Commands, main; import click;"
        "found = main.shell_complete(click.Context(main), 'r');"
        "assert 'render' in [item.value for item in found], found;"
        "sys.exit(str({'pydantic', 'httptools'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.stderr.strip() == ""
