"""`make kind`, with what it calls replaced by programs that write down how they were called."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from trainop import __version__

FOLDER = Path(__file__).parents[1] / "deploy" / "kind"
EXAMPLES = ("trainop-examples/tensorflow:1", "trainop-examples/mxnet:1")
SUITE = """#!/bin/sh
case "$1" in
    -c) echo {version} ;;
    *) echo "python $*, told of a cluster: ${{TRAINOP_E2E_KUBECONFIG:+yes}}" >> "$CALLS"; exit {code} ;;
esac
"""


class Stand:
    """In for the programs."""

    def __init__(self, folder: Path, *, code: int = 0) -> None:
        self._folder, self._calls = folder, folder / "calls"
        for name in ("bash", "dirname", "mktemp", "realpath", "rm"):
            (folder / name).symlink_to(shutil.which(name) or name)
        for name in ("docker", "kind"):
            self._write(name, f'#!/bin/sh\necho "{name} $*" >> "$CALLS"\n')
        self._write("python", SUITE.format(version=__version__, code=code))

    def run(self) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self._folder), "CALLS": str(self._calls)}
        argv = [FOLDER / "run", self._folder / "python"]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - ours

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)
        (self._folder / name).chmod(0o755)


def test_the_suite_runs_on_a_cluster_that_has_the_images_and_is_deleted(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    assert stand.run().returncode == 0
    built = [call.split()[3] for call in stand.calls if call.startswith("docker build --tag")]
    assert built == [f"trainop:{__version__}", *EXAMPLES]
    create, load, suite, delete = stand.calls[3:]
    assert create.startswith("kind create cluster --name trainop-e2e --config deploy/kind/cluster.yaml")
    assert load == " ".join(("kind load docker-image --name trainop-e2e", *built))
    assert suite == "python -m tests.e2e, told of a cluster: yes"
    assert delete == "kind delete cluster --name trainop-e2e"


def test_the_cluster_is_deleted_when_the_suite_fails(tmp_path: Path) -> None:
    stand = Stand(tmp_path, code=1)
    assert stand.run().returncode == 1
    assert stand.calls[-1] == "kind delete cluster --name trainop-e2e"


@pytest.mark.parametrize("missing", ["docker", "kind"])
def test_without_a_program_it_says_what_to_do(tmp_path: Path, missing: str) -> None:
    stand = Stand(tmp_path)
    (tmp_path / missing).unlink()
    done = stand.run()
    advice = f"error: there is no {missing}: install it, or use make e2e, which needs none.\n"
    assert (done.returncode, done.stderr, stand.calls) == (2, advice, [])


def test_the_cluster_is_one_node_of_the_version_of_kind_that_is_installed() -> None:
    cluster = yaml.safe_load((FOLDER / "cluster.yaml").read_text())
    assert cluster == {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane"}],
    }
