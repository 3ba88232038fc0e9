"""The controller config file: what is taken, what is overlooked, and how a bad one is told. legacy §2.8, §8.5."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chart.helm import CHART
from trainop import cli
from trainop.model import Accelerator, HostVolume
from trainop.operator import config

SERVER = "grpcServerFilePath: /opt/mlkube/grpc_tensorflow_server.py\n"
FILE = """\
accelerators:
  example.org/chip:
    volumes: [{name: lib, mountPath: /lib/chip, hostPath: /usr/lib/chip}]
    envVars: [{name: CHIP, value: "1"}]
"""
CHIP = (
    Accelerator("example.org/chip", (HostVolume("lib", "/lib/chip", "/usr/lib/chip"),), (("CHIP", "1"),)),
)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        SERVER + FILE,
        FILE.replace("accelerators", "Accelerators").replace("volumes", "VOLUMES").replace("envVars", "envvars"),
        FILE.replace("mountPath", "MountPath").replace("hostPath", "hostpath").replace("value", "Value"),
        f"kind: ConfigMap\napiVersion: v1\ndata:\n  controller_config_file.yaml: |\n{indented(FILE)}",
        f"kind: ConfigMap\napiVersion: v1\ndata:\n  controller-config-file.yaml: |\n{indented(FILE)}",
    ],
    ids=["plain", "with a server", "keys in other cases", "fields too", "a ConfigMap", "with dashes"],
)  # fmt: skip
def test_a_file_is_read_however_it_was_written(text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert config.read(text) == CHIP
    assert not caplog.messages


@pytest.mark.parametrize("text", ["", "{}", "accelerators:", "accelerators: {}", SERVER])
def test_a_file_without_accelerators_has_none(text: str) -> None:
    assert config.read(text) == ()


def test_what_is_not_used_is_told(caplog: pytest.LogCaptureFixture) -> None:
    text = "tfImage: tensorflow:1.3\nextra: 1\n" + FILE + "    more: 1\n  " + SERVER
    with caplog.at_level(logging.WARNING):
        assert config.read(text) == CHIP
    assert caplog.messages == [
        "controller config file: extra is not used",
        "controller config file: tfimage is not used",
        "controller config file: accelerators.grpcServerFilePath is not used",
        "controller config file: accelerators.example.org/chip.more is not used",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "cannot be used: while parsing"),
        ("- a", "the file: must be a mapping of names to values, not ['a']"),
        ("accelerators: [gpu]", "accelerators: must be a mapping of names to values, not ['gpu']"),
        ("accelerators: {'a b': {}}", "accelerators.a b: that is no name of a resource; write one such as"),
        ("accelerators: {gpu: {volumes: {}}}", "accelerators.gpu.volumes: must be a list, not {}"),
        ("accelerators: {gpu: {volumes: [lib]}}", "accelerators.gpu.volumes[0]: must be a mapping"),
        ("accelerators: {gpu: {volumes: [{name: A}]}}", "accelerators.gpu.volumes[0].name: must be text of"),
        ("accelerators: {gpu: {volumes: [{name: a, mountPath: b}]}}", "volumes[0].mountPath: must be a path"),
        ("accelerators: {gpu: {volumes: [{name: a, mountPath: /b}]}}", "volumes[0].hostPath: must be a path"),
        ("accelerators: {gpu: {envVars: [{name: 1A}]}}", "envVars[0].name: must be text of letters, digits"),
        ("accelerators: {gpu: {envVars: [{name: A, value: 1}]}}", "envVars[0].value: must be text, not 1; put"),
        ("kind: ConfigMap\ndata: {a: b}", "the ConfigMap has no key controller-config-file.yaml or"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line_at_the_start_and_exit_code_two(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    for flag in ("--controller-config-file", "--controller_config_file"):
        ended = CliRunner().invoke(cli.main, ["operator", flag, str(path)])
        assert ended.exit_code == 2
        assert complaint in ended.stderr
        assert ended.stderr.startswith(f"trainop: the controller config file {path} cannot be used: ")
        assert ended.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_told_the_same_way(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        ended = CliRunner().invoke(cli.main, ["operator", "--controller-config-file", str(path)])
        assert ended.exit_code == 2
        assert ended.stderr == f"trainop: the controller config file {path} cannot be read: {why}\n"


def test_the_files_of_the_chart_are_read_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = {path.stem: config.load(str(path)) for path in (CHART / "files" / "accelerators").iterdir()}
    assert {cloud: [len(it.volumes) for it in accelerators] for cloud, accelerators in found.items()} == {
        "azure": [3],
        "gke": [2],
    }
    assert not caplog.messages
