"""`cloud=azure` from helm to the pod of a job: the operator that the chart starts mounts what seed 001 shows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import account
from tests.chart.helm import Helm, Raw, one
from tests.chart.release import TRAINOP
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from tests.scenarios.operators import NO_PORTS
from trainop.operator import config

ROOT = Path(__file__).parents[2]
CONFIG = "tf-job-operator-config"
GPU = {"alpha.kubernetes.io/nvidia-gpu": 1}


def pod_of(objects: list[Raw]) -> Raw:
    found: Raw = one(objects, "Deployment")["spec"]["template"]["spec"]
    return found


def a_job() -> Raw:
    container = {"name": "tensorflow", "image": "train:1", "resources": {"requests": GPU}}
    worker = {"template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "example"},
        "spec": {"tfReplicaSpecs": {"Chief": worker, "Worker": worker}},
    }


@pytest.fixture
def mounted(helm: Helm, namespace: str, tmp_path: Path) -> list[str]:
    """The arguments of the operator, and its ConfigMap as files."""
    objects = helm.objects("--set", f"cloud=azure,namespaces={{{namespace}}}", namespace=namespace)
    pod = pod_of(objects)
    [container] = pod["containers"]
    [mount] = container["volumeMounts"]
    [volume] = [it for it in pod["volumes"] if it["name"] == mount["name"]]
    for file, text in one(objects, "ConfigMap", volume["configMap"]["name"])["data"].items():
        (tmp_path / file).write_text(text)
    return [word.replace(mount["mountPath"], str(tmp_path)) for word in container["args"]]


@pytest.fixture
def running(
    crds: Cluster, helm: Helm, namespace: str, mounted: list[str], tmp_path: Path
) -> Iterator[Process]:
    """With the rights of the chart."""
    who = account.install(crds, account.objects(helm, namespace, *account.only_in(namespace)), tmp_path)
    words: list[str | Path] = [TRAINOP, "operator", *mounted, *NO_PORTS]
    process = Process(words, log=tmp_path / "operator.log", env={**os.environ, **who.environment})
    yield process
    process.stop(30)
    who.check(tmp_path / "operator.log")


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    "job",
    [a_job(), yaml.safe_load((ROOT / "examples" / "legacy" / "tfjob_gpu.yaml").read_text())],
    ids=["kubeflow.org", "tensorflow.org"],
)
def test_a_job_that_asks_for_a_gpu_gets_what_the_chart_says_of_its_cloud(
    crds: Cluster, namespace: str, job: Raw
) -> None:
    """C4 of the contract, which says the same of the job of seed 001."""
    crds.run("create", "-n", namespace, "-f", "-", stdin=json.dumps(job))

    def made() -> list[Any]:
        told = crds.run("get", "pods", "-n", namespace, "-o", "json")
        found: list[Any] = json.loads(told)["items"]
        return found

    waiting.until("there is a pod", lambda: len(made()) > 0)
    spec = made()[0]["spec"]
    [container] = spec["containers"]
    assert [(it["name"], it["hostPath"]["path"]) for it in spec["volumes"] if "hostPath" in it] == [
        ("lib", "/usr/lib/nvidia-384"),
        ("bin", "/usr/lib/nvidia-384/bin"),
        ("libcuda", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    ]
    assert [(it["name"], it["mountPath"]) for it in container["volumeMounts"]][:3] == [
        ("lib", "/usr/lib/nvidia"),
        ("bin", "/usr/local/nvidia/bin"),
        ("libcuda", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    ]
    assert [it["name"] for it in container["env"]] == ["LD_LIBRARY_PATH", "TF_CONFIG"]
    assert container["env"][0]["value"] == "/usr/lib/nvidia:/usr/lib/x86_64-linux-gnu"
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}


def test_without_a_cloud_nothing_is_mounted_and_no_file_is_named(helm: Helm) -> None:
    pod = pod_of(helm.objects())
    assert "volumes" not in pod
    assert not [word for word in pod["containers"][0]["args"] if "config-file" in word or "gpu" in word]


def test_a_config_map_of_ones_own_wins_over_that_of_a_cloud(helm: Helm) -> None:
    file = "/etc/config/controller-config-file.yaml"
    objects = helm.objects("--set", f"cloud=gke,config.configmap=mine,config.file={file},renameGpu=false")
    assert CONFIG not in [item["metadata"]["name"] for item in objects]
    pod = pod_of(objects)
    assert pod["volumes"] == [{"name": "config-volume", "configMap": {"name": "mine"}}]
    assert {f"--controller-config-file={file}", "--no-rename-gpu"} <= {*pod["containers"][0]["args"]}


MINE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: tf-job-operator-config, namespace: default}
data:
  controller_config_file.yaml: |
    accelerators:
      alpha.kubernetes.io/nvidia-gpu:
        volumes: [{name: nvidia-libs, mountPath: /usr/local/nvidia, hostPath: /opt/nvidia}]
        envVars: [{name: LD_LIBRARY_PATH, value: /usr/local/nvidia}]
"""


def test_a_config_map_that_is_there_before_the_release_is_used(
    helm: Helm, crds: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Seed 000: `kubectl create configmap tf-job-operator-config --from-file ...`, then helm without a cloud."""
    file = tmp_path / "my-config.yaml"
    file.write_text(MINE)
    crds.run("create", "configmap", CONFIG, "--from-file", str(file), "-n", namespace)
    there = replace(helm, kubeconfig=crds.kubeconfig)
    pod = pod_of(there.objects("--dry-run=server", namespace=namespace))
    assert pod["volumes"] == [{"name": "config-volume", "configMap": {"name": CONFIG}}]
    assert "--controller-config-file=/etc/config/my-config.yaml" in pod["containers"][0]["args"]
    [gpu] = config.load(str(file))
    assert gpu.volumes[0].host_path == "/opt/nvidia"
    named = there.objects("--dry-run=server", "--set", "config.file=/etc/config/z.yaml", namespace=namespace)
    assert "--controller-config-file=/etc/config/my-config.yaml" in pod_of(named)["containers"][0]["args"]
    crds.run("patch", "configmap", CONFIG, "-n", namespace, "-p", '{"data": {"z.yaml": ""}}')
    named = there.objects("--dry-run=server", "--set", "config.file=/etc/config/z.yaml", namespace=namespace)
    assert "--controller-config-file=/etc/config/z.yaml" in pod_of(named)["containers"][0]["args"]


def test_another_cloud_starts_another_pod(helm: Helm) -> None:
    sums = {
        one(helm.objects("--set", f"cloud={cloud}"), "Deployment")["spec"]["template"]["metadata"][
            "annotations"
        ]["checksum/config"]
        for cloud in ("gke", "azure")
    }
    assert len(sums) == 2
