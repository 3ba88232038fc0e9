"""A release from install to uninstall on a real API server, with the operator and `helm test` under its own rights."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import CHART, Helm, HelmRefused, Raw, one
from tests.chart.queries import alerts, ask, dashboard
from tests.chart.release import Operator, Release, kubelet, operator, run_pod
from tests.chart.rights import may
from tests.cluster import binaries, build, progress, waiting
from tests.cluster.controlplane import Cluster
from tests.takeover import old
from trainop.operator.metrics import Metrics

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
NAMESPACE = "trainop-system"
TFJOBS = "tfjobs.kubeflow.org"
MIB = 1024 * 1024
# What Prometheus adds to every series: where it found it.
OF_THE_TARGET = {"namespace", "job", "instance"}


@pytest.fixture(scope="module")
def before(own_cluster: Cluster, helm: Helm) -> Release:
    """Not installed yet; the CRDs are those of the v1 operator, and the roles of its Kubeflow overlay are there."""
    left = build.unpacked(old.SOURCES, binaries.cache(), progress.on_stderr()) / "manifests"
    for kind in old.KINDS:
        own_cluster.install_crds(left / "base" / "crds" / f"kubeflow.org_{kind}s.yaml", "--server-side")
    own_cluster.run("apply", "-f", str(left / "overlays" / "kubeflow" / "kubeflow-training-roles.yaml"))
    return Release(own_cluster, Helm(helm.program, helm.home, own_cluster.kubeconfig), NAMESPACE)


@pytest.fixture(scope="module")
def release(before: Release) -> Release:
    """Installed once; the tests of this file are its life, in their order."""
    before.change("install", "--create-namespace", "--take-ownership")
    return before


@pytest.fixture(scope="module")
def running(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """For the last tests: the ones before take its service account away."""
    with operator(release, tmp_path_factory.mktemp("operator")) as it:
        yield it


def test_what_the_v1_operator_has_left_is_replaced_only_when_helm_is_told_to(before: Release) -> None:
    with pytest.raises(HelmRefused, match=r'"tfjobs\.kubeflow\.org" .* cannot be imported'):
        before.change("install", "--create-namespace")
    uid = before.get("crd", TFJOBS)["metadata"]["uid"]
    before.change("install", "--create-namespace", "--take-ownership")
    crd = before.get("crd", TFJOBS)
    assert crd["metadata"]["uid"] == uid
    printed = yaml.load((ROOT / "crds" / "kubeflow.org_tfjobs.yaml").read_text(), Loader=yaml.CSafeLoader)
    assert crd["spec"]["versions"] == printed["spec"]["versions"]
    admin = before.get("clusterrole", "kubeflow-training-admin")
    gathered = admin["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]
    edit = before.get("clusterrole", "kubeflow-training-edit")
    assert edit["metadata"]["labels"].items() >= gathered.items()
    before.helm.run("uninstall", before.name, "--namespace", NAMESPACE)


def test_a_release_takes_a_small_part_of_the_secret_that_helm_keeps_it_in(release: Release) -> None:
    [secret] = release.get("secrets", "-l", "owner=helm")["items"]
    assert len(base64.b64decode(secret["data"]["release"])) < MIB / 3


def test_the_rights_of_the_release_are_those_of_its_service_account_only(release: Release) -> None:
    account = f"system:serviceaccount:{NAMESPACE}:trainop"
    assert may(release.cluster, account, "patch", "tfjobs/status", "default")
    assert not may(release.cluster, account, "patch", "tfjobs", "default")
    assert not may(release.cluster, account, "get", "secrets", NAMESPACE)
    assert may(release.cluster, account, "create", "leases.coordination.k8s.io", NAMESPACE)
    assert not may(release.cluster, account, "create", "leases.coordination.k8s.io", "default")
    assert not may(
        release.cluster, account, "get", "leases.coordination.k8s.io", NAMESPACE
    )  # by its name only


def test_an_upgrade_changes_the_crds_too_and_finds_an_api_that_is_there_by_now(release: Release) -> None:
    crd = "tfjobs.kubeflow.org"
    release.cluster.run(
        "patch", "crd", crd, "--type=json", "-p", '[{"op":"remove","path":"/spec/names/shortNames"}]'
    )
    release.cluster.install_crds(Path(__file__).with_name("monitoring.yaml"))
    # Helm compares with the release before, and mends what others have changed as well.
    release.change("upgrade", "--set", "replicas=3,metrics.serviceMonitor.interval=15s")
    assert release.get("crd", TFJOBS)["spec"]["names"]["shortNames"] == ["tfj"]
    assert release.get("deployment", "trainop")["spec"]["replicas"] == 3
    [endpoint] = release.get("servicemonitor", "trainop")["spec"]["endpoints"]
    assert endpoint["interval"] == "15s"
    assert release.get("prometheusrule", "trainop")["spec"]["groups"]


def test_a_typo_in_an_upgrade_changes_nothing(release: Release) -> None:
    with pytest.raises(HelmRefused, match="at '': additional properties 'replica' not allowed"):
        release.change("upgrade", "--set", "replica=4")
    assert release.get("deployment", "trainop")["spec"]["replicas"] == 3


def test_a_rollback_brings_back_what_was_there(release: Release) -> None:
    release.helm.run("rollback", release.name, "1", "--namespace", NAMESPACE)
    assert release.get("deployment", "trainop")["spec"]["replicas"] == 2
    assert release.names("servicemonitors") == set()


def test_a_second_release_serves_a_namespace_of_its_own_beside_the_first(release: Release) -> None:
    release.cluster.run("create", "namespace", "team-a")
    second = Release(release.cluster, release.helm, "team-a", "second")
    # What there is once per cluster the first has.
    second.change("install", "--set", "namespaces={team-a},crds.install=false,rbac.aggregate=false")
    account = "system:serviceaccount:team-a:second-trainop"
    assert may(release.cluster, account, "create", "pods", "team-a")
    assert not may(release.cluster, account, "create", "pods", "default")
    second.helm.run("uninstall", second.name, "--namespace", "team-a")


def test_a_job_survives_the_uninstallation_and_the_next_installation(release: Release) -> None:
    example = ROOT / "examples" / "tensorflow" / "tfjob.yaml"
    release.cluster.run("create", "-f", str(example))
    before = job_in(release)
    release.helm.run("uninstall", release.name, "--namespace", NAMESPACE)
    assert release.names("deployments") == set()
    assert job_in(release)["metadata"]["uid"] == before["metadata"]["uid"]
    release.change("install")
    waiting.until("the kinds are served again", release.serves_jobs)
    assert job_in(release)["metadata"]["uid"] == before["metadata"]["uid"]


def job_in(release: Release) -> Raw:
    told = release.cluster.run("get", "tfjob", "hello-tensorflow", "-o", "json")
    return json.loads(told)  # type: ignore[no-any-return]  # an object


def test_helm_test_without_an_operator_says_so_and_leaves_nothing_either(
    release: Release, tmp_path: Path
) -> None:
    code, said = submit(release, tmp_path, patience="1")
    assert code == 1
    assert "the job has not succeeded in 1 s: no operator has looked at it" in said
    assert release.names("tfjobs") == set()


def submit(release: Release, folder: Path, patience: str) -> tuple[int, str]:
    """The script of the test on its own, as the cluster's administrator."""
    hooks = release.helm.run("get", "hooks", release.name, "--namespace", NAMESPACE)
    job = one(list(yaml.safe_load_all(hooks)), "ConfigMap")["data"]["job.json"]
    (folder / "job.json").write_text(job)
    script = CHART / "files" / "test" / "submit.py"
    done = subprocess.run(  # noqa: S603 - the chart's own script
        [sys.executable, script, folder / "job.json", patience],
        env={**os.environ, "KUBECONFIG": str(release.cluster.kubeconfig)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_helm_test_submits_a_job_sees_it_succeed_and_leaves_nothing(
    release: Release, running: Operator, tmp_path: Path
) -> None:
    code, said, told = helm_test(release, tmp_path)
    assert code == 0, said
    assert "Succeeded: TFJob trainop-system/trainop-test successfully completed." in said
    assert "Phase:          Succeeded" in told
    assert release.names("tfjobs") == set()
    for kind in ("pods", "serviceaccounts", "configmaps", "roles", "rolebindings"):
        waiting.until(
            f"the {kind} of the test are gone",
            lambda kind=kind: not {name for name in release.names(kind) if "test" in name},  # type: ignore[misc]
        )


def helm_test(release: Release, folder: Path) -> tuple[int, str, str]:
    """What the pod of the test returned and said, and what helm said of it."""
    with ThreadPoolExecutor(1) as pool, kubelet(release, folder):
        test = pool.submit(
            release.helm.run, "test", release.name, "--namespace", NAMESPACE, "--timeout", "90s"
        )
        waiting.until("helm has made the pod", lambda: test.done() or "trainop-test" in release.names("pods"))
        code, said = run_pod(release, "trainop-test", folder)
        return code, said, test.result()


def test_every_query_of_the_dashboard_and_the_alerts_asks_for_what_metrics_has(
    running: Operator, promql: Path
) -> None:
    series = labels_of(running.page())
    never_yet = Metrics()
    never_yet.watch_failed("pods")
    series = labels_of(never_yet.page().decode()) | series
    queries = dashboard() | {f"alert {name}": query for name, query in alerts().items()}
    for where, answer in zip(queries, ask(promql, queries.values()), strict=True):
        assert not answer.error, f"{where}: {answer.error}"
        assert answer.asked, f"{where} asks for nothing"
        for metrics, labels in answer.asked:
            unknown = [name for name in metrics if name not in series]
            assert not unknown, f"{where}: /metrics has no {unknown}"
            for metric in metrics:
                missing = set(labels or ()) - series[metric] - OF_THE_TARGET
                assert not missing, f"{where}: {metric} has no label {missing}"


def labels_of(page: str) -> dict[str, set[str]]:
    """The labels of each metric that has series."""
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", page, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found
