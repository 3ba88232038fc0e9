"""docs/migrating.md: every command in it is run, in its order, on files of each of the systems it speaks of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chart.helm import Helm, one
from tests.cluster.controlplane import Cluster
from trainop.registry import by_name

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "migrating.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```console\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
MAP = """\
apiVersion: kubeflow.org/v1beta2
kind: TFJob
metadata: { name: from-v1beta2 }
spec:
  cleanPodPolicy: All
  tfReplicaSpecs:
    Worker: { template: { spec: { containers: [{ name: tensorflow, image: "train:1" }] } } }
"""
LIST = """\
apiVersion: kubeflow.org/v1alpha1
kind: TFJob
metadata: { name: from-v1alpha1 }
spec:
  replicaSpecs:
    - template: { spec: { containers: [{ name: tensorflow, image: "train:1" }] } }
"""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("migrating")
    shutil.copytree(ROOT / "examples" / "legacy", folder / "old")
    (folder / "old" / "tfjob_v1beta2.yaml").write_text(MAP)
    (folder / "old" / "tfjob_v1alpha1.yaml").write_text(LIST)
    return folder


def test_every_command_of_the_page_works_in_its_order(crds: Cluster, namespace: str, workplace: Path) -> None:
    assert len(COMMANDS) > 10
    programs = (Path(sys.executable).parent, crds.kubectl.parent, os.environ["PATH"])
    env = {**os.environ, "PATH": os.pathsep.join(map(str, programs)), "KUBECONFIG": str(crds.kubeconfig)}
    for command in COMMANDS:
        line = command.replace("kubectl ", f"kubectl -n {namespace} ")
        line = line.replace("trainop convert tfjob", f"trainop convert -n {namespace} tfjob")
        words = ["/bin/bash", "-o", "pipefail", "-c", line]
        done = subprocess.run(  # noqa: S603 - the page's own
            words, cwd=workplace, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_the_release_of_2017_is_one_that_helm_renders(helm: Helm) -> None:
    [line] = re.findall(r"^helm install tf-job charts/trainop (.*)$", TEXT, re.MULTILINE)
    objects = helm.objects(*line.split(), release="tf-job", namespace="default")
    assert one(objects, "ConfigMap", "tf-job-operator-config")
    assert one(objects, "ClusterRoleBinding")


def test_the_table_names_every_kind_and_version_that_is_served() -> None:
    table = TEXT.partition("| you have |")[2].partition("\n\n")[0]
    for framework in by_name().values():
        for dialect in framework.dialects:
            assert f"{dialect.gvk.api_version}`" in table
            for cousin in dialect.manner.cousins:
                assert cousin.split()[0] in table
        for version in framework.older_versions:
            assert version in table
