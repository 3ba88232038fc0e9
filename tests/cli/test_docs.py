"""docs/cli.md: a section for each command, in order, and what it shows is what one sees."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.test_help import WITHOUT_A_CLUSTER
from trainop import cli

pytestmark = pytest.mark.thorough

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
SECTIONS = dict(re.findall(r"^## `trainop (\S+)`\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
SHOWN = [
    (name, command, output)
    for name in (*WITHOUT_A_CLUSTER, "convert")
    for command, output in re.findall(r"```console\n\$ trainop (.*?)\n(.*?)```", SECTIONS[name], re.DOTALL)
]


def test_every_command_has_a_section_and_they_stand_in_order() -> None:
    assert list(SECTIONS) == sorted(cli.COMMANDS)


@pytest.mark.parametrize(("name", "command", "output"), SHOWN, ids=[shown[0] for shown in SHOWN])
def test_what_is_shown_is_what_one_sees(
    name: str, command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    for yaml in re.findall(r"```yaml\n(.*?)```", SECTIONS[name], re.DOTALL):
        Path("job.yaml").write_text(yaml)
    assert CliRunner().invoke(cli.main, shlex.split(command)).stdout == output
