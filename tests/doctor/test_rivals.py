"""Other operators on the same kinds, and what they have left behind: told as long as they hinder ours."""

from __future__ import annotations

import pytest

from tests.chart.helm import Helm, Raw
from tests.cluster.controlplane import Cluster
from tests.doctor.patient import a_lease, an_installation, findings, ills, installed, the_old_operator, there
from trainop.doctor.rivals import OLD_HOOK, OLD_LEASE

pytestmark = pytest.mark.cluster


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
