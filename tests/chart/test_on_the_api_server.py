"""What a real API server makes of the rendered chart: every object taken, rights and policies in force."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import CHART, Helm, Raw, one
from tests.chart.rights import may, rights
from tests.chart.test_templates import VALUES
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.shared import CRDS
from trainop.registry import frameworks

pytestmark = pytest.mark.cluster
HERE = Path(__file__).parent
TEAMS = ("team-a", "team-b")
GO_AND_SEE = "--dry-run=server"


@pytest.fixture(scope="module")
def cluster(crds: Cluster) -> Iterator[Cluster]:
    """With the namespaces and the kinds that values in this folder speak of."""
    for team in TEAMS:
        apply(crds, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}])
    crds.install_crds(HERE / "monitoring.yaml")
    yield crds
    crds.run("delete", "-f", str(HERE / "monitoring.yaml"), "--wait=false")
    crds.run("delete", "namespace", *TEAMS, "--wait=false")


def apply(cluster: Cluster, objects: list[Raw], *words: str) -> str:
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    return cluster.run("apply", *words, "-f", "-", stdin=json.dumps(items))


def a_job(name: str = "mine") -> Raw:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "busybox"}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": {"Worker": {"template": template}}},
    }


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_every_object_is_one_that_the_api_server_takes(
    cluster: Cluster, helm: Helm, namespace: str, values: Path
) -> None:
    objects = helm.objects("--values", values, namespace=namespace)
    told = apply(cluster, objects, GO_AND_SEE, "--validate=strict")
    assert len(told.splitlines()) == len(objects)


def test_the_crds_of_the_chart_are_taken_in_the_place_of_the_ones_that_are_there(
    cluster: Cluster, helm: Helm
) -> None:
    text = helm.text("--show-only", "templates/crds.yaml")
    told = cluster.run("apply", GO_AND_SEE, "--validate=strict", "-f", "-", stdin=text)
    assert told.count("customresourcedefinition.apiextensions.k8s.io/") == len(list(CRDS.iterdir()))


def test_the_plain_manifests_are_taken_by_kubectl_as_one_file_and_as_a_kustomization(
    cluster: Cluster,
) -> None:
    folder = HERE.parents[1] / "deploy" / "manifests"
    name = f"plain-{secrets.token_hex(3)}"
    cluster.run("create", "namespace", name)
    plain = (folder / "trainop.yaml").read_text()
    # The namespace must be there even for a rehearsal.
    there = plain.replace("trainop-system", name)
    told = cluster.run("apply", GO_AND_SEE, "--validate=strict", "-f", "-", stdin=there)
    assert "deployment.apps/trainop created" in told
    kinds = re.compile("^kind: .*", re.MULTILINE)
    assert sorted(kinds.findall(cluster.run("kustomize", str(folder)))) == sorted(kinds.findall(plain))
    cluster.run("delete", "namespace", name, "--wait=false")


def test_the_operators_pod_and_that_of_helm_test_are_admitted_where_pod_security_is_restricted(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    cluster.run("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    template = one(helm.objects(namespace=namespace), "Deployment")["spec"]["template"]
    told = helm.text("--show-only", "templates/tests/job.yaml", namespace=namespace)
    account = one(helm.objects(namespace=namespace), "ServiceAccount")
    apply(cluster, [account])
    pod = {**template, "apiVersion": "v1", "kind": "Pod"} | {
        "metadata": {"name": "it", "namespace": namespace}
    }
    assert "pod/it created" in apply(cluster, [pod], GO_AND_SEE)
    hooks = list(yaml.safe_load_all(told))
    apply(cluster, [one(hooks, "ServiceAccount")])
    assert "pod/trainop-test created" in apply(cluster, [one(hooks, "Pod")], GO_AND_SEE)
    job = json.loads(one(hooks, "ConfigMap")["data"]["job.json"])
    member = job["spec"]["tfReplicaSpecs"]["Worker"]["template"] | {"apiVersion": "v1", "kind": "Pod"}
    member["metadata"] = {"name": "member", "namespace": namespace}
    assert "pod/member created" in apply(cluster, [member], GO_AND_SEE)
    root = json.loads(json.dumps(pod))
    root["spec"]["securityContext"]["runAsNonRoot"] = False
    with pytest.raises(Refused, match="violates PodSecurity"):
        apply(cluster, [root], GO_AND_SEE)


@pytest.mark.parametrize("kind", [gvk.kind for gvk in frameworks() if gvk.group == "kubeflow.org"])
def test_whatever_kinds_are_served_helm_test_submits_a_job_that_the_api_server_takes(
    cluster: Cluster, helm: Helm, namespace: str, kind: str
) -> None:
    only = ("--set", f"enabledKinds={{{kind}}}")
    hooks = yaml.safe_load_all(
        helm.text(*only, "--show-only", "templates/tests/job.yaml", namespace=namespace)
    )
    job = json.loads(one(list(hooks), "ConfigMap")["data"]["job.json"])
    assert job["kind"] == kind
    assert "/trainop-test created" in apply(cluster, [job], GO_AND_SEE, "--validate=strict")


@pytest.mark.parametrize(
    ("setting", "told", "not_told"),
    [
        ("replicas=2", ["TFJob, MXJob, PyTorchJob", "in all namespaces.", "helm test mine -n place"], "false"),
        ("namespaces={a,b}", ["in a, b.", "kubectl get tfjobs.kubeflow.org -w"], "all namespaces"),
        ("enabledKinds={MxJob.mlkube.io}", ["serves MxJob.mlkube.io in", "get mxjobs.mlkube.io -w"], "helm test"),
        ("rbac.install=false", ["service account place/mine-trainop are yours to grant"], "crds.install"),
        ("crds.install=false", ["crds.install is false: install and upgrade the CRDs yourself"], "yours to"),
    ],
)  # fmt: skip
def test_the_notes_tell_what_to_do_next(
    cluster: Cluster, helm: Helm, setting: str, told: list[str], not_told: str
) -> None:
    there = replace(helm, kubeconfig=cluster.kubeconfig)
    words = ("--dry-run=client", "--take-ownership", "--namespace", "place", "--set", setting)
    _, _, notes = there.run("install", "mine", CHART, *words).partition("NOTES:\n")
    assert not [words for words in told if words not in notes], notes
    assert not_told not in notes


def test_people_with_view_see_jobs_and_people_with_edit_write_them_but_nobody_writes_a_status(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    roles = [
        item
        for item in helm.objects("--show-only", "templates/aggregated-roles.yaml", namespace=namespace)
        if item["kind"] == "ClusterRole"
    ]
    assert [role["metadata"]["name"] for role in roles] == [
        f"kubeflow-training-{level}" for level in ("admin", "edit", "view")
    ]
    apply(cluster, roles)
    for level in ("admin", "edit", "view"):
        bind = ("create", "rolebinding", f"{level}-of-ours", "-n", namespace)
        cluster.run(*bind, f"--clusterrole={level}", f"--user={level}-of-ours")
    expected = {"view": {"get", "list", "watch"}}
    expected["edit"] = expected["view"] | {"create", "update", "patch", "delete", "deletecollection"}
    expected["admin"] = expected["edit"]
    for role in roles:
        level = role["metadata"]["name"].rpartition("-")[2]
        assert {verb for _, resource, verb in rights([role]) if resource == "tfjobs"} == expected[level]
    for level in expected:
        who = f"{level}-of-ours"
        last = "get" if level == "view" else "create"
        gathered = partial(may, cluster, who, last, "mxjobs", namespace)
        waiting.until(f"the cluster's role {level} has gathered ours", gathered)
        assert may(cluster, who, "get", "tfjobs", namespace)
        assert may(cluster, who, "create", "mxjobs", namespace) == (level != "view")
        assert not may(cluster, who, "patch", "tfjobs/status", namespace)
    cluster.run("delete", "clusterrole", *(role["metadata"]["name"] for role in roles))


def test_who_may_not_create_pods_may_not_have_them_made_by_a_job(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    settings = ("--set", f"namespaces={{{namespace}}},admissionPolicy.enabled=true")
    exempt = ("--set", "admissionPolicy.exemptUsers={robot}")
    policy = helm.objects(
        *settings, *exempt, "--show-only", "templates/admissionpolicy.yaml",
        release=f"policy-{namespace}", namespace=namespace,
    )  # fmt: skip
    tfjobs = "tfjobs.kubeflow.org,tfjobs.tensorflow.org"
    for who, resources in (("deputy", tfjobs), ("robot", tfjobs), ("engineer", f"{tfjobs},pods")):
        role = ("create", "role", who, "-n", namespace, "--verb=create,get,update,patch")
        cluster.run(*role, "--resource=tfjobs/scale", *(f"--resource={it}" for it in resources.split(",")))
        cluster.run("create", "rolebinding", who, "-n", namespace, f"--role={who}", f"--user={who}")

    def submit(who: str, job: Raw, *words: str) -> str:
        try:
            return cluster.run(
                "apply", "-n", namespace, f"--as={who}", *words, "-f", "-", stdin=json.dumps(job)
            )
        except Refused as refused:
            return str(refused)

    def scale(who: str) -> str:
        try:
            return cluster.run("scale", "tfjobs/before", "--replicas=3", "-n", namespace, f"--as={who}")
        except Refused as refused:
            return str(refused)

    assert "created" in submit("deputy", a_job("before"))
    bare: Raw = {"apiVersion": "tensorflow.org/v1alpha1", "kind": "TfJob", "metadata": {"name": "bare"}}
    assert "created" in submit("deputy", bare)
    apply(cluster, policy)
    try:
        refusal = (
            f"deputy may not create pods in namespace {namespace}, and the operator does that for tfjobs"
        )
        waiting.until(
            "the policy is in force", lambda: refusal in submit("deputy", a_job("probe"), GO_AND_SEE)
        )
        assert refusal in submit("deputy", a_job())
        assert "created" in submit("engineer", a_job())
        assert "created" in submit("robot", a_job("for-another"))
        edited = a_job("before")
        edited["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 2
        assert refusal in submit("deputy", edited)
        assert refusal in scale("deputy")
        assert "scaled" in scale("engineer")
        labelled = a_job("before")
        labelled["metadata"]["labels"] = {"seen": "yes"}
        assert "configured" in submit("deputy", labelled)
        bare["metadata"]["labels"] = {"seen": "yes"}
        assert "configured" in submit("deputy", bare)
    finally:
        cluster.run(
            "delete", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": policy})
        )
