"""The operator as a platform engineer meets it: a cluster, `trainop operator`, kubectl and the examples."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chart import account
from tests.chart.account import Account
from tests.chart.helm import Helm
from tests.cluster import own, waiting
from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.leash import Process
from tests.kubelet import Kubelet
from tests.scenarios.operators import NO_PORTS
from trainop.kube.client import Client
from trainop.kube.credentials import load

ROOT = Path(__file__).parents[1]
TRAINOP = Path(sys.executable).with_name("trainop")
EXAMPLES = {"tfjob/hello-tensorflow": "tensorflow/tfjob.yaml", "mxjob/hello-mxnet": "mxnet/mxjob.yaml"}
MESSAGE = ("-o", "jsonpath={.items[0].message}")
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def who(cluster: Cluster, helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Account:
    """Whom the chart's ClusterRole is for."""
    cluster.run("create", "namespace", "trainop-system")
    return account.install(
        cluster, account.objects(helm, "trainop-system"), tmp_path_factory.mktemp("account")
    )


@pytest.fixture(scope="module")
def cluster(control_plane: Cluster) -> Iterator[Cluster]:
    """One of our own: this operator serves all namespaces, and must not meet the jobs of other tests."""
    with own.control_plane(crds=ROOT / "crds") as alone:
        yield alone


@contextmanager
def operator(who: Account, folder: Path, *words: str) -> Iterator[Process]:
    log = folder / "operator.log"
    env = {**os.environ, **who.environment}
    process = Process([TRAINOP, "operator", *NO_PORTS, *words], log=log, env=env)
    try:
        waiting.until(
            "the operator serves", lambda: "serving" in log.read_text() or process.wait(0) is not None
        )
        yield process
    finally:
        process.stop(30)
    assert "Traceback" not in log.read_text(), log.read_text()
    who.check(log)


def with_kubelet(cluster: Cluster, do: Callable[[Kubelet], Any], namespace: str = "default") -> None:
    async def run() -> None:
        async with Client(load(str(cluster.kubeconfig))) as api:
            await do(Kubelet(api, namespace))

    asyncio.run(run())


def pods(cluster: Cluster) -> list[str]:
    return cluster.run("get", "pods", "-o", "name").split()


def test_the_examples_go_from_kubectl_apply_to_succeeded_and_leave_nothing(
    cluster: Cluster, who: Account, tmp_path: Path
) -> None:
    with operator(who, tmp_path) as process:
        for example in EXAMPLES.values():
            cluster.run("apply", "-f", str(ROOT / "examples" / example))
        waiting.until("eight pods exist", lambda: len(pods(cluster)) == 8)
        waiting.until(
            "eight services exist", lambda: len(cluster.run("get", "svc", "-o", "name").split()) == 9
        )
        names = [name.removeprefix("pod/") for name in pods(cluster)]

        async def run_all(kubelet: Kubelet) -> None:
            for name in names:
                await kubelet.run(name)

        with_kubelet(cluster, run_all)
        for job in EXAMPLES:
            cluster.run("wait", job, "--for=condition=Running", "--timeout=60s")
        cluster.run("wait", *EXAMPLES, "--for=jsonpath={.status.progress}=4/4", "--timeout=60s")
        shown = cluster.run("get", "tfjobs,mxjobs").splitlines()
        assert [line.split()[:3] for line in shown if line] == [
            ["NAME", "STATE", "PROGRESS"],
            ["tfjob.kubeflow.org/hello-tensorflow", "Running", "4/4"],
            ["NAME", "STATE", "PROGRESS"],
            ["mxjob.kubeflow.org/hello-mxnet", "Running", "4/4"],
        ]

        async def leaders_end(kubelet: Kubelet) -> None:
            await kubelet.exit("hello-tensorflow-chief-0")
            await kubelet.exit("hello-mxnet-scheduler-0")

        with_kubelet(cluster, leaders_end)
        for job in EXAMPLES:
            cluster.run("wait", job, "--for=condition=Succeeded", "--timeout=60s")
        waiting.until("what still ran is gone", lambda: len(pods(cluster)) == 2)
        process.terminate()
        assert process.wait(30) == 0

    # Nothing of ours runs any more, and delete still removes everything.
    cluster.run("delete", *EXAMPLES, "--wait=true", "--timeout=60s")
    waiting.until("no pod is left", lambda: pods(cluster) == [])
    waiting.until(
        "no service is left",
        lambda: cluster.run("get", "svc", "-o", "name").split() == ["service/kubernetes"],
    )


def test_describe_tells_the_story_in_events(cluster: Cluster, who: Account, tmp_path: Path) -> None:
    with operator(who, tmp_path):
        cluster.run("apply", "-f", str(ROOT / "examples/tensorflow/tfjob.yaml"))
        line = "Created pod: hello-tensorflow-chief-0"
        waiting.until(
            "the event is told", lambda: line in cluster.run("describe", "tfjob", "hello-tensorflow")
        )
        told = cluster.run("describe", "tfjob", "hello-tensorflow")
        assert "tfjob-controller" in told
        assert "Created service: hello-tensorflow-chief-0" in told
        cluster.run("delete", "tfjob", "hello-tensorflow")


def test_applying_twice_changes_nothing(cluster: Cluster, who: Account, tmp_path: Path) -> None:
    path = str(ROOT / "examples/mxnet/mxjob.yaml")
    with operator(who, tmp_path):
        cluster.run("apply", "-f", path)
        cluster.run("wait", "mxjob/hello-mxnet", "--for=condition=Created", "--timeout=60s")
        assert "unchanged" in cluster.run("apply", "-f", path)
        job = json.loads(cluster.run("get", "mxjob", "hello-mxnet", "-o", "json"))
        assert "finalizers" not in job["metadata"]
        assert set(job["metadata"]["annotations"]) == {"kubectl.kubernetes.io/last-applied-configuration"}
        cluster.run("delete", "-f", path)


def test_a_kind_without_its_crd_is_named_at_the_start(who: Account, tmp_path: Path) -> None:
    with operator(who, tmp_path, "--enable-scheme", "tfjob") as process:
        words = process.last_words()
    assert "serving TFJob, TfJob in all namespaces" in words
    env = {**os.environ, **who.environment, "PYTHONPATH": str(ROOT / "tests/thirdparty")}
    alone = Process(
        [TRAINOP, "operator", *NO_PORTS, "--enable-scheme", "concert"], log=tmp_path / "alone.log", env=env
    )
    assert alone.wait(60) == 2
    assert "trainop crds | kubectl apply -f -" in alone.last_words(3)
    alone.stop(5)


def test_a_kind_that_is_installed_later_is_served_from_then_on(
    cluster: Cluster, who: Account, tmp_path: Path
) -> None:
    crd = ROOT / "crds" / "mxnet.mlkube.io_mxjobs.yaml"
    cluster.run("delete", "-f", str(crd), "--wait")
    example = ROOT / "examples" / "legacy" / "mxnet_mlkube_mx_job_dist.yaml"
    with operator(who, tmp_path) as process:
        cluster.install_crds(crd)
        cluster.run("create", "-f", str(example))
        waiting.until("its job has pods", lambda: pods(cluster), limit=120)
        assert "MxJob of mxnet.mlkube.io is installed now: starting anew" in process.last_words(30)
        cluster.run("delete", "-f", str(example))
        waiting.until("they go with it", lambda: not pods(cluster))


def test_the_samples_of_seed_004_run_unchanged_and_end_as_it_says(
    cluster: Cluster, who: Account, tmp_path: Path
) -> None:
    cluster.run("create", "namespace", "kubeflow")
    account = ("get", "serviceaccounts", "-n", "kubeflow", "-o", "name")
    waiting.until("pods can be made there", lambda: "default" in cluster.run(*account))
    with operator(who, tmp_path):
        for sample in sorted((ROOT / "tests/data/seed004").glob("*.yaml")):
            play(cluster, sample)


def play(cluster: Cluster, sample: Path) -> None:
    """Without a chief the workers decide; what still runs then is freed, unless the sample says None."""
    made = cluster.run("create", "-f", str(sample), "-o", "jsonpath={.metadata.name} {.metadata.namespace}")
    job, namespace = made.split()
    spec = json.loads(cluster.run("get", "tfjob", job, "-n", namespace, "-o", "json"))["spec"]
    roles = {role.lower(): replica["replicas"] for role, replica in spec["tfReplicaSpecs"].items()}
    names = {f"{job}-{role}-{index}" for role, count in roles.items() for index in range(count)}

    def seen() -> set[str]:
        selector = f"training.kubeflow.org/job-name={job}"
        told = cluster.run("get", "pods", "-n", namespace, "-l", selector, "-o", "name")
        return {name.removeprefix("pod/") for name in told.split()}

    async def work(kubelet: Kubelet) -> None:
        for name in sorted(names):
            await kubelet.run(name)
        await kubelet.exit(f"{job}-worker-0")

    waiting.until(f"the pods of {sample.name} exist", lambda: seen() == names)
    with_kubelet(cluster, work, namespace)
    cluster.run("wait", f"tfjob/{job}", "-n", namespace, "--for=condition=Succeeded", "--timeout=60s")
    kept = names if spec.get("cleanPodPolicy") == "None" else {f"{job}-worker-0"}
    waiting.until(f"only {kept} are left", lambda: seen() == kept)


@pytest.mark.parametrize(
    ("kind", "roles", "field"),
    [("TFJob", "tfReplicaSpecs", "successPolicy"), ("MXJob", "mxReplicaSpecs", "jobMode")],
)
def test_a_job_that_got_in_before_the_rules_ends_failed_with_the_field_path(
    cluster: Cluster, who: Account, tmp_path: Path, kind: str, roles: str, field: str
) -> None:
    crd = json.loads(cluster.run("get", "crd", f"{kind.lower()}s.kubeflow.org", "-o", "json"))
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    lax = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    crd["spec"]["versions"][0] |= {"schema": lax, "additionalPrinterColumns": []}
    cluster.run("replace", "-f", "-", stdin=json.dumps(crd))
    bad = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "bad"},
        "spec": {roles: {"Worker": {"restartPolicy": "Sometimes", "template": {}}}, field: 1},
    }
    waiting.until("the rules are gone", lambda: _taken(cluster, bad))
    cluster.run("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    of_it = f"--field-selector=reason={kind}FailedValidation"
    with operator(who, tmp_path):
        waiting.until("the event is told", lambda: "FailedValidation" in cluster.run("get", "events", of_it))
        message = cluster.run("get", "events", of_it, *MESSAGE)
        if _minor(cluster) >= 33:  # before, the API server takes no status of such a job: the event is all
            cluster.run("wait", f"{kind}/bad", "--for=condition=Failed", "--timeout=60s")
            status = json.loads(cluster.run("get", kind, "bad", "-o", "json"))["status"]
            assert status["conditions"][-1]["message"] == message
    assert message.startswith(f"{kind} failed validation because ")
    assert f"spec.{field}: must be" in message
    assert f"spec.{roles}.Worker.restartPolicy: must be Always" in message
    cluster.run("delete", kind, "bad")


def _minor(cluster: Cluster) -> int:
    """Of the version of Kubernetes."""
    return int(json.loads(cluster.run("version", "-o", "json"))["serverVersion"]["minor"].rstrip("+"))


def _taken(cluster: Cluster, job: dict[str, Any]) -> bool:
    try:
        cluster.run("create", "-f", "-", stdin=json.dumps(job))
    except Refused:
        return False
    return True
