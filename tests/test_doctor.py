"""`trainop doctor` on a real API server: every illness it knows, each with its cure, and a healthy installation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.chart.helm import Helm, Raw, one
from tests.chart.rights import kubeconfig_of
from tests.cluster import own, waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.shared import CRDS
from trainop import cli
from trainop.doctor import OLD_HOOK, OLD_LEASE
from trainop.registry import frameworks
from trainop.rights import of_jobs, of_the_lease

pytestmark = pytest.mark.cluster
HOME = "trainop-system"
OWN = ("--show-only", "templates/deployment.yaml", "--show-only", "templates/rbac.yaml")
ALL = [*of_jobs(frameworks().values()), *of_the_lease()]


@pytest.fixture(scope="module")
def bare() -> Iterator[Cluster]:
    """One of our own, as the doctor looks at all of it; the tests below have it in their order."""
    with own.control_plane() as cluster:
        for name in (HOME, "team-a", "team-b", "kubeflow"):
            cluster.run("create", "namespace", name)
        yield cluster


@pytest.fixture(scope="module")
def cluster(bare: Cluster) -> Cluster:
    """With the CRDs."""
    bare.install_crds(CRDS)
    return bare


def doctor(cluster: Cluster, *words: str, kubeconfig: Path | None = None) -> Result:
    return CliRunner().invoke(
        cli.main, ["doctor", "--kubeconfig", str(kubeconfig or cluster.kubeconfig), *words]
    )


def findings(cluster: Cluster, **who: Any) -> list[Raw]:
    """The exit code is that of the worst of them."""
    result = doctor(cluster, "-o", "json", **who)
    found: list[Raw] = json.loads(result.output)
    assert result.exit_code == (1 if "problem" in [finding["level"] for finding in found] else 0)
    return found


def ills(cluster: Cluster, **who: Any) -> dict[str, str]:
    """What is wrong, by what it is about."""
    return {it["about"]: it["message"] for it in findings(cluster, **who) if it["level"] != "ok"}


@contextmanager
def there(cluster: Cluster, *objects: Raw) -> Iterator[None]:
    if not objects:  # kubectl would take that for a mistake
        yield
        return
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.run("apply", "-f", "-", stdin=text)
    try:
        yield
    finally:
        cluster.run("delete", "--ignore-not-found", "-f", "-", stdin=text)


def an_installation(helm: Helm, *values: str, namespace: str = HOME, release: str = "trainop") -> list[Raw]:
    words = [word for value in ("rbac.aggregate=false", *values) for word in ("--set", value)]
    return helm.objects(*OWN, *words, namespace=namespace, release=release)


@contextmanager
def installed(cluster: Cluster, *objects: Raw, ready: int = 2) -> Iterator[None]:
    """No controller makes pods of a Deployment here: the test says how many are ready."""
    with there(cluster, *objects):
        made = one(list(objects), "Deployment")["metadata"]
        status = json.dumps({"status": {"replicas": 2, "readyReplicas": ready}})
        which = ("deployment", made["name"], "-n", made["namespace"])
        cluster.run("patch", *which, "--subresource=status", "--type=merge", "-p", status)
        yield


def a_lease(
    name: str = "trainop", namespace: str = HOME, *, holder: str = "trainop-0_1", age: float = 0
) -> Raw:
    renewed = datetime.now(UTC) - timedelta(seconds=age)
    # Of a duration that no test outlasts.
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 600}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec | {"renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
    }


def the_old_operator(*flags: str, replicas: int = 1) -> Raw:
    labels = {"control-plane": "kubeflow-training-operator"}
    container = {"name": "training-operator", "image": "old", "command": ["/manager", *flags]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "training-operator", "namespace": "kubeflow", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def test_where_nothing_is_installed_it_says_how_to_install(bare: Cluster) -> None:
    found = findings(bare)
    kinds = {"TFJob": "tensorflow", "MXJob": "mxnet", "PyTorchJob": "pytorch", "XGBoostJob": "xgboost"}
    told = {f"CRD {kind}": f"trainop crds --framework {kinds[kind]} | kubectl apply -f -" for kind in kinds}
    told["operator"] = "helm install trainop charts/trainop -n trainop-system --create-namespace"
    assert {it["about"]: it["remedy"] for it in found} == told
    assert {it["level"] for it in found} == {"problem"}


def test_a_cluster_in_which_all_is_well_gets_a_zero(cluster: Cluster, helm: Helm) -> None:
    with installed(cluster, *an_installation(helm)), there(cluster, a_lease()):
        result = doctor(cluster)
        assert result.exit_code == 0, result.output
        assert [line[:30] for line in result.output.splitlines()] == [
            "ok   CRD MXJob: mxjobs.kubeflo",
            "ok   CRD MxJob: mxjobs.mlkube.",
            "ok   CRD MxJob: mxjobs.mxnet.m",
            "ok   CRD PyTorchJob: pytorchjo",
            "ok   CRD TFJob: tfjobs.kubeflo",
            "ok   CRD TfJob: tfjobs.tensorf",
            "ok   CRD TfJob: tfjobs.mlkube.",
            "ok   CRD XGBoostJob: xgboostjo",
            "ok   operator: trainop-system/",
            "ok   rights: system:serviceacc",
            "ok   leader: trainop-0_1, seen",
            "",
            "nothing is wrong",
        ]
        assert f"has all {len(ALL)}" in result.output


def test_a_crd_of_another_version_is_named(cluster: Cluster) -> None:
    drop = '[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]'
    cluster.run("patch", "crd", "mxjobs.kubeflow.org", "--type=json", "-p", drop)
    try:
        wrong = ills(cluster)
        assert wrong["CRD MXJob"] == "mxjobs.kubeflow.org is of another version than this trainop"
        assert "CRD TFJob" not in wrong
    finally:
        cluster.run("apply", "-f", str(CRDS))


def test_every_right_that_is_missing_is_named(cluster: Cluster, helm: Helm) -> None:
    objects = an_installation(helm)
    with installed(cluster, *objects), there(cluster, a_lease()):
        for kind in ("ClusterRole", "Role"):
            role = one(objects, kind)
            first = json.dumps([{"op": "replace", "path": "/rules", "value": role["rules"][:1]}])
            cluster.run("patch", kind, role["metadata"]["name"], "-n", HOME, "--type=json", "-p", first)
        left = {"get", "list", "watch", "delete"}
        missing = [
            f"{right} in {HOME}" if right.resource == "leases" else str(right)
            for right in ALL
            if not (right.group == "kubeflow.org" and "/" not in right.resource and right.verb in left)
            and (right.resource, right.verb) != ("leases", "create")
        ]
        expected = f"system:serviceaccount:{HOME}:trainop may not: {'; '.join(missing)}"
        # The API server hears of a changed Role a little later.
        waiting.until("it is told", lambda: ills(cluster).get("rights") == expected)


def test_only_the_rights_for_what_an_operator_serves_are_asked_for(cluster: Cluster, helm: Helm) -> None:
    some = ("namespaces={team-a}", "enabledKinds={tfjob}", "gangSchedulerName=volcano")
    with installed(cluster, *an_installation(helm, *some)), there(cluster, a_lease()):
        waiting.until("the rights are in force", lambda: not ills(cluster))
    with_gang = an_installation(helm, "namespaces={team-a}")
    one(with_gang, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"] += [
        "--gang-scheduler-name",
        "volcano",
    ]
    with installed(cluster, *with_gang), there(cluster, a_lease()):
        told = "may not: get podgroups.scheduling.volcano.sh in team-a; list podgroups"
        waiting.until("the missing ones are told", lambda: told in ills(cluster).get("rights", ""))


@pytest.mark.parametrize(
    ("lease", "complaint"),
    [
        ([], f"nobody leads: the lease {HOME}/trainop is not there, no replica has made it"),
        ([a_lease(holder="")], f"nobody leads: the lease {HOME}/trainop was given back and not taken"),
        ([a_lease(age=900)], f"nobody leads: the lease {HOME}/trainop of trainop-0_1 has expired"),
    ],
    ids=["no lease", "given back", "expired"],
)
def test_that_nobody_leads_is_told(cluster: Cluster, helm: Helm, lease: list[Raw], complaint: str) -> None:
    with installed(cluster, *an_installation(helm)), there(cluster, *lease):
        assert ills(cluster)["leader"] == complaint


def test_a_leader_whose_clock_is_behind_ours_leads_all_the_same(cluster: Cluster, helm: Helm) -> None:
    """It renews its lease, if with times long ago."""
    renewing, done = threading.Event(), threading.Event()

    def renew() -> None:
        for age in range(900, 0, -1):
            cluster.run("apply", "-f", "-", stdin=json.dumps(a_lease(age=age)))
            renewing.set()
            if done.wait(0.5):
                return

    with installed(cluster, *an_installation(helm)), there(cluster, a_lease(age=901)):
        leader = threading.Thread(target=renew)
        leader.start()
        try:
            assert renewing.wait(60)
            assert "leader" not in ills(cluster)
        finally:
            done.set()
            leader.join()


def test_a_leader_whose_clock_is_ahead_of_ours_was_seen_now(cluster: Cluster, helm: Helm) -> None:
    with installed(cluster, *an_installation(helm)), there(cluster, a_lease(age=-300)):
        [told] = [it["message"] for it in findings(cluster) if it["about"] == "leader"]
        assert told == "trainop-0_1, seen 0 s ago"


@pytest.mark.parametrize(
    ("values", "ready", "complaint"),
    [
        (["replicas=0"], 0, f"{HOME}/trainop is scaled to 0"),
        ([], 0, f"{HOME}/trainop: 0 of 2 replicas are ready"),
        ([], 1, f"{HOME}/trainop: 1 of 2 replicas are ready"),
    ],
    ids=["none wanted", "none ready", "one ready"],
)
def test_replicas_that_are_not_ready_are_told(
    cluster: Cluster, helm: Helm, values: list[str], ready: int, complaint: str
) -> None:
    objects = an_installation(helm)
    if values:
        one(objects, "Deployment")["spec"]["replicas"] = 0
    with installed(cluster, *objects, ready=ready), there(cluster, a_lease()):
        assert ills(cluster)["operator"] == complaint


def test_replicas_without_an_election_are_told(cluster: Cluster, helm: Helm) -> None:
    objects = an_installation(helm)
    container = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--no-leader-elect"]
    with installed(cluster, *objects):
        assert ills(cluster)["operator"] == f"{HOME}/trainop has 2 replicas and no leader election"


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ([], [], "every namespace"),
        (["namespaces={team-a}"], [], "team-a"),
        (["namespaces={team-a,team-b}"], ["namespaces={team-b}"], "team-b"),
        (["namespaces={team-a}"], ["namespaces={team-b}"], None),
        (["enabledKinds={TFJob}"], ["enabledKinds={mxjob}"], None),
    ],
)
def test_two_installations_that_serve_the_same_are_told(
    cluster: Cluster, helm: Helm, first: list[str], second: list[str], both: str | None
) -> None:
    other = an_installation(helm, *second, namespace="team-b", release="second-trainop")
    leases = (a_lease(), a_lease("second-trainop", "team-b"))
    with (
        installed(cluster, *an_installation(helm, *first)),
        installed(cluster, *other),
        there(cluster, *leases),
    ):
        expected = f"team-b/second-trainop and {HOME}/trainop both serve {both}"
        assert ills(cluster).get("operator") == (expected if both else None)


def test_the_v1_operator_is_told_as_long_as_it_serves_a_kind_of_ours(cluster: Cluster) -> None:
    lease = a_lease(OLD_LEASE, "kubeflow")
    with there(cluster, lease):
        message = "the Kubeflow training operator holds its lease in namespace kubeflow"
        assert ills(cluster)["rivals"] == message
        with there(cluster, the_old_operator()):
            [finding] = [it for it in findings(cluster) if it["about"] == "rivals"]
            assert finding["message"].endswith("runs as deployment kubeflow/training-operator")
            stop = "kubectl -n kubeflow scale deployment training-operator --replicas=0"
            assert finding["remedy"].splitlines()[0] == stop
        with there(cluster, the_old_operator("--enable-scheme=mpijob", "--enable-scheme=MXJob")):
            assert "rivals" in ills(cluster)
        for harmless in (
            the_old_operator("--enable-scheme=mpijob", "--enable-scheme", "paddlejob"),
            the_old_operator(replicas=0),
        ):
            with there(cluster, harmless):
                assert "rivals" not in ills(cluster)
    with there(cluster, a_lease(OLD_LEASE, "kubeflow", age=3600)):
        assert "rivals" not in ills(cluster)


def test_the_v1_operator_in_namespaces_that_ours_does_not_serve_is_nobodys_worry(
    cluster: Cluster, helm: Helm
) -> None:
    ours = an_installation(helm, "namespaces={team-a}")
    by_variable = the_old_operator()
    [container] = by_variable["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "KUBEFLOW_NAMESPACE", "value": "team-b"}]
    with installed(cluster, *ours), there(cluster, a_lease()):
        for elsewhere in (the_old_operator("--namespace=team-b"), by_variable):
            with there(cluster, elsewhere):
                assert "rivals" not in ills(cluster)
        for here in (the_old_operator("--namespace=team-a"), the_old_operator()):
            with there(cluster, here):
                assert "rivals" in ills(cluster)
    with there(cluster, by_variable):
        assert "rivals" in ills(cluster), "whoever installs ours next is told"


def test_kinds_that_are_left_to_the_v1_operator_are_not_looked_at(cluster: Cluster, helm: Helm) -> None:
    ours, old = an_installation(helm, "enabledKinds={MXJob.kubeflow.org}"), "--enable-scheme=pytorchjob"
    with there(cluster, the_old_operator(old), a_lease()):
        assert "rivals" in ills(cluster)
        with installed(cluster, *ours):
            assert [it["about"] for it in findings(cluster)] == ["CRD MXJob", "operator", "rights", "leader"]


def test_a_webhook_that_the_v1_operator_has_left_behind_is_told(cluster: Cluster) -> None:
    service = {"name": "training-operator", "namespace": "kubeflow", "path": "/validate"}
    rule = {"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    hooks = [
        {
            "name": f"validator.{kind}.training-operator.kubeflow.org",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"service": service},
            "rules": [rule | {"resources": [f"{kind}s"]}],
        }
        for kind in ("tfjob", "mpijob")
    ]
    webhook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": OLD_HOOK},
    }
    dead = f"no TFJob can be created or changed: {OLD_HOOK} asks an operator that does not answer"
    with there(cluster, webhook | {"webhooks": hooks}):
        assert ills(cluster)["webhook"] == dead
        with there(cluster, the_old_operator("--enable-scheme=mpijob")):
            assert ills(cluster)["webhook"] == dead
        with there(cluster, the_old_operator()):
            assert "webhook" not in ills(cluster)
    with there(cluster, webhook | {"webhooks": hooks[1:]}):
        assert "webhook" not in ills(cluster)


def test_whoever_else_writes_the_status_of_jobs_is_named(cluster: Cluster) -> None:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "busybox"}]}}
    job: Raw = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "mine", "namespace": "team-a"},
        "spec": {"tfReplicaSpecs": {"Worker": {"template": template}}},
    }
    with there(cluster, job):
        assert "rivals" not in ills(cluster)
        words = (
            "--subresource=status",
            "--type=merge",
            "-p",
            '{"status": {"startTime": "2026-01-01T00:00:00Z"}}',
        )
        cluster.run("patch", "tfjob", "mine", "-n", "team-a", "--field-manager=somebody", *words)
        assert ills(cluster)["rivals"] == "the status of tfjobs was lately written by somebody"
    other = {**job, "spec": {**job["spec"], "runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}
    with there(cluster, other):
        cluster.run("patch", "tfjob", "mine", "-n", "team-a", "--field-manager=somebody", *words)
        assert "rivals" not in ills(cluster), "as the remedy says"


def test_who_may_see_little_is_told_what_could_not_be_looked_at(
    cluster: Cluster, helm: Helm, tmp_path: Path
) -> None:
    cluster.run("create", "serviceaccount", "visitor", "-n", "team-b")
    visitor = kubeconfig_of(cluster, "visitor", "team-b", tmp_path)
    with installed(cluster, *an_installation(helm)), there(cluster, a_lease()):
        found = findings(cluster, kubeconfig=visitor)
        assert {it["level"] for it in found} == {"warning"}
        told = {it["about"]: it["message"] for it in found}
        assert told["CRD TFJob"].startswith(
            "tfjobs.kubeflow.org is installed, but you cannot see its version: "
        )
        assert told["operator"].startswith("you cannot look for one: deployments.apps is forbidden: ")
        assert told["rivals"].startswith("you cannot see who writes xgboostjobs: ")
        assert doctor(cluster, kubeconfig=visitor).output.splitlines()[-1] == "13 warnings"
        # The Deployments and nothing else.
        role = ("clusterrole", "sees-deployments")
        cluster.run("create", *role, "--verb=list", "--resource=deployments.apps")
        bind = ("--clusterrole=sees-deployments", "--serviceaccount=team-b:visitor")
        cluster.run("create", "clusterrolebinding", "sees-deployments", *bind)
        waiting.until(
            "there is more to see",
            lambda: {"rights", "leader"} <= ills(cluster, kubeconfig=visitor).keys(),
        )
        told = ills(cluster, kubeconfig=visitor)
        assert told["rights"].startswith(f"you cannot ask what system:serviceaccount:{HOME}:trainop may do: ")
        assert told["leader"].startswith(f"you cannot read the lease {HOME}/trainop: ")


def test_what_is_printed_fits_eighty_columns_and_commands_can_be_copied(cluster: Cluster, helm: Helm) -> None:
    objects = an_installation(helm, "rbac.install=false")
    with (
        installed(cluster, *objects, ready=1),
        installed(cluster, *an_installation(helm, namespace="team-b", release="second-trainop"), ready=0),
        there(cluster, the_old_operator()),
    ):
        result = doctor(cluster)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert not [line for line in lines if len(line) > 80]
    assert [line for line in lines if line.startswith("FAIL rights: ")]
    assert "      -> kubectl -n trainop-system logs deployment/trainop" in lines
    assert lines[-1].endswith("1 warning")


def test_a_cluster_that_does_not_answer_ends_with_three_and_one_line(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text(json.dumps(config))
    result = doctor(cluster, kubeconfig=nowhere)
    assert result.exit_code == 3
    assert result.output.startswith(
        "trainop: the API server cannot be reached (GET /apis/apps/v1/deployments)"
    )
    assert result.output.count("\n") == 1
