"""`trainop doctor` on a real API server: every illness it knows, each with its cure, and a healthy installation."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.chart.helm import Helm, Raw, one
from tests.chart.rights import kubeconfig_of
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.shared import CRDS
from tests.doctor.patient import (
    HOME,
    a_lease,
    an_installation,
    doctor,
    findings,
    ills,
    installed,
    the_old_operator,
    there,
)
from trainop.registry import frameworks
from trainop.rights import of_jobs, of_the_lease

pytestmark = pytest.mark.cluster
ALL = [*of_jobs(frameworks().values()), *of_the_lease()]


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
