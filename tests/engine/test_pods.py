"""The pod of a member. kubeflow-v1 §4.1-4.3, §1.5 (port); DECISIONS `env names of ours`, `SettedPodTemplate…`."""

import copy
from typing import Any

import pytest

from tests.builders import MX, TF, Raw, a_job, a_template
from trainop.engine import pods
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import Event, Job
from trainop.template import fingerprint

ENV = {"TF_CONFIG": "{}"}


def manifest(job: Job[Any], framework: Framework[Any] = TF, number: int = 0, env: Any = ENV) -> Raw:
    return pods.manifest(framework, job, list(topology(framework, job))[number], env)


def test_the_whole_pod() -> None:
    job = a_job(TF, Worker=2)
    assert manifest(job, number=1) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "mnist-worker-1",
            "namespace": "ns",
            "labels": {
                "training.kubeflow.org/operator-name": "tfjob-controller",
                "training.kubeflow.org/job-name": "mnist",
                "training.kubeflow.org/replica-type": "worker",
                "training.kubeflow.org/replica-index": "1",
            },
            "annotations": {
                "training.kubeflow.org/template-hash": fingerprint(job.replicas["Worker"].template)
            },
            "ownerReferences": [
                {
                    "apiVersion": "kubeflow.org/v1",
                    "kind": "TFJob",
                    "name": "mnist",
                    "uid": "job-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "containers": [
                {
                    "name": "tensorflow",
                    "image": "train:1",
                    "ports": [{"name": "tfjob-port", "containerPort": 2222}],
                    "env": [{"name": "TF_CONFIG", "value": "{}"}],
                }
            ],
            "restartPolicy": "Never",
        },
    }


def test_the_master_carries_the_label_of_the_master() -> None:
    assert manifest(a_job(TF, Worker=2))["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"


def test_labels_and_annotations_of_the_template_are_kept_and_ours_win() -> None:
    """§4.1. Of the rest of the template's metadata nothing is taken: SECURITY, "template with finalizers"."""
    written = {
        "name": "mine",
        "namespace": "other",
        "labels": {"team": "a", "training.kubeflow.org/job-name": "forged"},
        "annotations": {"note": "b", "training.kubeflow.org/template-hash": "forged"},
        "finalizers": ["stay"],
        "ownerReferences": [{"uid": "forged"}],
    }
    metadata = manifest(a_job(TF, Worker={"template": a_template(metadata=written)}))["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("mnist-worker-0", "ns")
    assert metadata["labels"]["team"] == "a"
    assert metadata["labels"]["training.kubeflow.org/job-name"] == "mnist"
    assert metadata["annotations"].pop("training.kubeflow.org/template-hash") != "forged"
    assert metadata["annotations"] == {"note": "b"}
    assert "finalizers" not in metadata
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["job-uid"]


@pytest.mark.parametrize(
    ("policy", "pod"),
    [
        ("Always", "Always"),
        ("OnFailure", "OnFailure"),
        ("Never", "Never"),
        ("ExitCode", "Never"),
        (None, "Never"),
    ],
)
def test_the_restart_policy_of_the_pod(policy: str | None, pod: str) -> None:
    """§4.3: ExitCode is judged by us, so the kubelet must not restart. The template's own is overwritten."""
    template = a_template()
    template["spec"]["restartPolicy"] = "Always"
    job = a_job(TF, Worker={"restartPolicy": policy, "template": template})
    assert manifest(job)["spec"]["restartPolicy"] == pod


@pytest.mark.parametrize(
    ("written", "ports"),
    [
        (None, [{"name": "tfjob-port", "containerPort": 2222}]),
        ([{"name": "tfjob-port", "containerPort": 99}], [{"name": "tfjob-port", "containerPort": 99}]),
        (
            [{"name": "web", "containerPort": 80}],
            [{"name": "web", "containerPort": 80}, {"name": "tfjob-port", "containerPort": 2222}],
        ),
    ],
)
def test_the_default_port_is_added_beside_others(written: Any, ports: list[Raw]) -> None:
    """§1.5."""
    job = a_job(TF, Worker={"template": a_template(ports=written)})
    assert manifest(job)["spec"]["containers"][0]["ports"] == ports


def test_the_environment_comes_last_and_ours_is_there_once() -> None:
    """DECISIONS "env names of ours": ours win, once."""
    env = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "LR", "value": "1"}]
    job = a_job(TF, Worker={"template": a_template(sidecar="log", env=env)})
    own, sidecar = manifest(job)["spec"]["containers"]
    assert own["env"] == [{"name": "LR", "value": "1"}, {"name": "TF_CONFIG", "value": "{}"}]
    assert sidecar == {"name": "log", "image": "sidecar:1"}


def test_where_the_framework_says_so_every_container_gets_the_environment() -> None:
    """§3: MXNet's goes to every regular container, and to no init container."""
    template = a_template("mxnet", sidecar="log")
    template["spec"]["initContainers"] = [{"name": "init", "image": "i"}]
    job = a_job(MX, Worker={"template": template})
    spec = manifest(job, MX, env={"DMLC_ROLE": "worker"})["spec"]
    assert [c["env"] for c in spec["containers"]] == [[{"name": "DMLC_ROLE", "value": "worker"}]] * 2
    assert spec["initContainers"] == [{"name": "init", "image": "i"}]


def test_without_an_environment_the_users_own_stays() -> None:
    env = [{"name": "TF_CONFIG", "value": "mine"}]
    job = a_job(TF, Worker={"template": a_template(env=env)})
    assert manifest(job, env={})["spec"]["containers"][0]["env"] == env


def test_the_users_template_is_not_changed() -> None:
    template = a_template(
        sidecar="log",
        env=[{"name": "TF_CONFIG"}],
        ports=[{"containerPort": 1}],
        metadata={"labels": {"a": "b"}},
    )
    job = a_job(TF, Worker={"template": template})
    before = copy.deepcopy(job.replicas["Worker"].template)
    manifest(job)
    assert job.replicas["Worker"].template == before


# --- warnings: §6.1, DECISIONS `env names of ours` and `SettedPodTemplateRestartPolicy` -----------------------


def warnings(template: Raw, framework: Framework[Any] = TF) -> list[Event]:
    job = a_job(framework, Worker={"replicas": 2, "template": template})
    members = topology(framework, job)
    return list(pods.warnings(framework, job, members, next(iter(members))))


def test_nothing_to_warn_of() -> None:
    assert warnings(a_template(sidecar="log", env=[{"name": "LR", "value": "1"}])) == []


def test_a_restart_policy_in_the_template_is_warned_of() -> None:
    template = a_template()
    template["spec"]["restartPolicy"] = "Always"
    sentence = "Restart policy in pod template will be overwritten by restart policy in replica spec"
    assert warnings(template) == [Event("Warning", "SettedPodTemplateRestartPolicy", sentence)]


def test_a_variable_of_ours_in_the_template_is_warned_of() -> None:
    (event,) = warnings(a_template(env=[{"name": "TF_CONFIG", "value": "mine"}]))
    assert (event.type, event.reason) == ("Warning", "OverwroteEnvironment")
    assert "TF_CONFIG in container tensorflow of Worker" in event.message


def test_a_variable_of_ours_in_a_container_that_gets_none_is_the_users() -> None:
    template = a_template(sidecar="log")
    template["spec"]["containers"][1]["env"] = [{"name": "TF_CONFIG", "value": "mine"}]
    assert warnings(template) == []


def test_several_variables_make_one_warning_for_each_container() -> None:
    mine = [{"name": "DMLC_ROLE", "value": "x"}, {"name": "MX_CONFIG", "value": "y"}]
    template = a_template("mxnet", sidecar="log", env=mine)
    template["spec"]["containers"][1]["env"] = mine[:1]
    found = warnings(template, MX)
    assert [event.message.partition(" of ")[0] for event in found] == [
        "DMLC_ROLE, MX_CONFIG in container mxnet",
        "DMLC_ROLE in container log",
    ]
