"""Jobs of older kubeflow.org versions on a real API server: taken, stored and run as v1. legacy §7.3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.kubelet import Kubelet
from tests.scenarios.casting import known_frameworks
from tests.scenarios.operators import Served, serving
from tests.test_operator import with_kubelet
from trainop.model import DEFAULTS
from trainop.registry import by_name

Raw = dict[str, Any]
VERSIONS = [
    (name, framework.kind, version)
    for name, framework in by_name().items()
    for version in framework.older_versions
]
ANYWHERE = pytest.mark.parametrize(("name", "kind", "version"), VERSIONS)
ROLES = {"tensorflow": "Chief", "mxnet": "Scheduler"}


@pytest.fixture(scope="module")
def served(crds: Cluster, helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(crds, helm, known_frameworks(), tmp_path_factory.mktemp("operator"), DEFAULTS) as it:
        yield it


def a_job(name: str, version: str, **spec: Any) -> Raw:
    framework = by_name()[name]
    replica = {"template": {"spec": {"containers": [{"name": framework.container, "image": "train:1"}]}}}
    mode = {"jobMode": "MXTrain"} if name == "mxnet" else {}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": framework.kind,
        "metadata": {"name": f"{name}-{version}"},
        "spec": {**mode, framework.replicas_field: {ROLES[name]: replica, "Worker": replica}, **spec},
    }


def names(served: Served, job: Raw) -> set[str]:
    selector = f"training.kubeflow.org/job-name={job['metadata']['name']}"
    told = served.cluster.run("get", "pods", "-n", served.namespace, "-l", selector, "-o", "name")
    return {line.removeprefix("pod/") for line in told.split()}


def stored(served: Served, job: Raw, version: str = "v1") -> Raw:
    resource = f"{job['kind'].lower()}s.{version}.kubeflow.org"
    told = served.cluster.run("get", resource, job["metadata"]["name"], "-n", served.namespace, "-o", "json")
    found: Raw = json.loads(told)
    return found


def test_the_versions_are_those_that_had_maps_of_roles() -> None:
    assert {(kind, version) for _, kind, version in VERSIONS} == {
        ("TFJob", "v1beta2"),
        ("TFJob", "v1beta1"),
        ("TFJob", "v1alpha2"),
        ("MXJob", "v1beta1"),
        ("MXJob", "v1alpha2"),
    }


@ANYWHERE
def test_a_job_runs_to_its_end_and_what_stands_beside_the_run_policy_counts(
    served: Served, name: str, kind: str, version: str
) -> None:
    job = a_job(name, version, cleanPodPolicy="All", backoffLimit=3)
    served.cluster.run("apply", "-n", served.namespace, "-f", "-", stdin=json.dumps(job))
    title, decider = job["metadata"]["name"], f"{job['metadata']['name']}-{ROLES[name].lower()}-0"
    waiting.until("its pods are there", lambda: names(served, job) == {decider, f"{title}-worker-0"})

    async def work(kubelet: Kubelet) -> None:
        for pod in sorted(names(served, job)):
            await kubelet.run(pod)
        await kubelet.exit(f"{title}-worker-0")
        await kubelet.exit(decider)

    with_kubelet(served.cluster, work, served.namespace)
    words = ("-n", served.namespace, "--for=condition=Succeeded", "--timeout=60s")
    served.cluster.run("wait", f"{kind.lower()}/{title}", *words)
    waiting.until("cleanPodPolicy has been obeyed", lambda: names(served, job) == set())
    assert stored(served, job)["spec"]["backoffLimit"] == 3
    assert stored(served, job, version)["status"]["conditions"][-1]["type"] == "Succeeded"


def test_a_field_that_v1_does_not_have_is_dropped_and_a_mistake_fails_the_job(served: Served) -> None:
    job = a_job("tensorflow", "v1beta2", schedulerName="mine", backoffLimit=-1)
    job["metadata"]["name"] = "mistaken"
    served.cluster.run("apply", "-n", served.namespace, "-f", "-", stdin=json.dumps(job))
    assert "schedulerName" not in stored(served, job)["spec"]

    def told() -> bool:
        return "spec.backoffLimit: must be at least 0" in served.cluster.run(
            "get", "events", "-n", served.namespace, "-o", "jsonpath={.items[*].message}"
        )

    waiting.until("the mistake is told", told)
    assert names(served, job) == set()
