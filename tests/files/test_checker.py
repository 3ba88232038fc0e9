"""Every mistake at once, each with its place, what is wrong and what to write instead."""

from __future__ import annotations

from textwrap import dedent

import pytest

from trainop import registry
from trainop.files.checker import Checker, Mistake, Report
from trainop.files.documents import documents

JOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: mnist
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: tensorflow
              image: train:1
  runPolicy:
    cleanPodPolicy: All
"""
OTHER_MX = JOB.replace("TFJob", "MXJob").replace("tfR", "mxR").replace("name: tensorflow", "name: mxnet")
MX = OTHER_MX.replace("spec:\n  mx", "spec:\n  jobMode: MXTrain\n  mx")


def check(text: str) -> Report:
    return Checker(registry.frameworks()).check(documents("job.yaml", text))


def shown(mistake: Mistake) -> str:
    return f"{mistake.line}:{mistake.column}: {mistake.path}: {mistake.message} -> {mistake.hint}"


def mistakes(text: str) -> list[str]:
    return [shown(mistake) for mistake in check(text).mistakes]


@pytest.mark.parametrize("text", [JOB, MX, JOB.replace("Worker", "worker")])
def test_a_good_job_has_none(text: str) -> None:
    report = check(text)
    assert report.mistakes == []
    assert (report.jobs, report.wrong, report.skipped) == (1, 0, [])
    assert [checked.job.name for checked in report.good] == ["mnist"]


@pytest.mark.parametrize("version", ["kubeflow.org/v1alpha1"])
def test_of_a_job_that_can_only_be_converted_nothing_else_is_told(version: str) -> None:
    assert mistakes(JOB.replace("kubeflow.org/v1", version)) == [
        f"1:13: apiVersion: TFJob of {version} is not served -> rewrite it with `trainop convert`"
    ]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1", "v1alpha2"])
def test_an_older_version_is_read_as_v1(version: str) -> None:
    assert mistakes(JOB.replace("kubeflow.org/v1", f"kubeflow.org/{version}")) == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            "replicas: 2",
            "replica: 2",
            "8:7: spec.tfReplicaSpecs.Worker.replica: unknown field -> write replicas",
        ),
        ("tfReplicaSpecs", "tfReplicaSpec", "6:3: spec.tfReplicaSpec: unknown field -> write tfReplicaSpecs"),
        (
            "OnFailure",
            "OnFail",
            "9:22: spec.tfReplicaSpecs.Worker.restartPolicy: "
            "must be Always, OnFailure, Never or ExitCode, not 'OnFail' -> write OnFailure",
        ),
        (
            "Worker",
            "Wroker",
            "7:5: spec.tfReplicaSpecs.Wroker: the roles of a TFJob are Chief, Master, PS, Worker, Evaluator "
            "(in any letter case) -> write Worker",
        ),
        ("kind: TFJob", "kind: TFjob", "2:7: kind: must be TFJob, not 'TFjob' -> write kind: TFJob"),
        ("kind: TFJob", "kind: TFJobs", "2:7: kind: must be TFJob, not 'TFJobs' -> write kind: TFJob"),
        ("kind: TFJob\n", "", "1:1: kind: is required -> write kind: TFJob"),
        (
            "apiVersion: kubeflow.org/v1\n",
            "",
            "1:1: apiVersion: is required -> write apiVersion: kubeflow.org/v1",
        ),
        (
            "kubeflow.org/v1",
            "kubeflow.org/v1beta3",
            "1:13: apiVersion: must be kubeflow.org/v1, not 'kubeflow.org/v1beta3' "
            "-> write apiVersion: kubeflow.org/v1",
        ),
        (
            "replicas: 2",
            "replicas: -1",
            "8:17: spec.tfReplicaSpecs.Worker.replicas: must be at least 0, not -1 -> ",
        ),
        (
            "replicas: 2",
            "replicas: '2'",
            "8:17: spec.tfReplicaSpecs.Worker.replicas: must be a whole number, not '2' -> write 2, without quotes",
        ),
        (
            "image: train:1",
            "image: 1",
            "14:22: spec.tfReplicaSpecs.Worker.template.spec.containers[0].image: must be text, not 1 "
            '-> write "1", in quotes',
        ),
        (
            "image: train:1",
            "image: ''",
            "14:22: spec.tfReplicaSpecs.Worker.template.spec.containers[0].image: an image is needed "
            "-> write image: NAME:TAG",
        ),
        (
            "image: train:1",
            "image: train:1\n              evn: []",
            "15:15: spec.tfReplicaSpecs.Worker.template.spec.containers[0].evn: unknown field -> write env",
        ),
        (
            "name: tensorflow",
            "name: trainer",
            '12:11: spec.tfReplicaSpecs.Worker.template.spec.containers: one container must be named "tensorflow" '
            "-> write name: tensorflow",
        ),
        (
            "cleanPodPolicy: All",
            "cleanPodPolicy: all",
            "16:21: spec.runPolicy.cleanPodPolicy: must be None, Running or All, not 'all' -> write All",
        ),
        (
            "cleanPodPolicy: All",
            "suspend: 'true'",
            "16:14: spec.runPolicy.suspend: must be true or false, not 'true' -> write true, without quotes",
        ),
        (
            "name: mnist",
            "name: Mnist",
            "4:9: metadata.name: must be a DNS label that starts with a letter: a-z, 0-9 and '-', such as mnist-1 -> ",
        ),
        ("name: mnist", "name: mnist\n  label: {}", "5:3: metadata.label: unknown field -> write labels"),
        (
            "containers:\n            -",
            "containers:\n             ",
            "12:11: spec.tfReplicaSpecs.Worker.template.spec.containers: must be a list, not a mapping "
            "-> begin each entry with '- '",
        ),
        (
            "replicas: 2",
            "replicas: 2\n      replicas: 3",
            "9:7: spec.tfReplicaSpecs.Worker.replicas: is there twice, first in line 8: only one of them can count "
            "-> remove one of them",
        ),
    ],
)
def test_one_mistake_is_told_once(right: str, wrong: str, told: str) -> None:
    assert right in JOB
    assert mistakes(JOB.replace(right, wrong, 1)) == [told]


def test_what_is_required_and_missing_is_told_where_it_should_stand() -> None:
    assert mistakes(OTHER_MX) == ["5:1: spec.jobMode: is required -> write jobMode: MXTrain or MXTune"]


def test_a_strange_dialect_is_named_and_not_taken_apart() -> None:
    old = "apiVersion: tensorflow.example.org/v1alpha1\nkind: TFJob\nmetadata: {name: a}\nspec: {replicaSpecs: [1]}\n"
    assert mistakes(old) == [
        "1:13: apiVersion: no installed framework reads TFJob of tensorflow.example.org/v1alpha1 "
        "-> write it as a TFJob of kubeflow.org/v1"
    ]


def test_mistakes_below_a_misspelled_field_are_found_too_and_rules_are_asked() -> None:
    text = JOB.replace("tfReplicaSpecs", "tfReplicaSpec").replace("replicas: 2", "replicas: two")
    text = text.replace("name: tensorflow", "name: trainer").replace("All", "Sometimes")
    assert [line.partition(" -> ")[0] for line in mistakes(text)] == [
        "6:3: spec.tfReplicaSpec: unknown field",
        "8:17: spec.tfReplicaSpec.Worker.replicas: must be a whole number, not 'two'",
        '12:11: spec.tfReplicaSpec.Worker.template.spec.containers: one container must be named "tensorflow"',
        "16:21: spec.runPolicy.cleanPodPolicy: must be None, Running or All, not 'Sometimes'",
    ]


def test_what_only_follows_from_a_mistake_is_not_told() -> None:
    """A role that is no mapping is one mistake, and not also a job without a role that decides."""
    lines = JOB.splitlines(keepends=True)
    text = "".join([*lines[:6], "    Worker: []\n", *lines[14:]])
    assert mistakes(text) == [
        "7:5: spec.tfReplicaSpecs.Worker: must be a mapping of names to values, not [] -> "
    ]


def test_other_objects_are_skipped_and_counted() -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\n---\n{JOB}---\napiVersion: kubeflow.org/v1\nkind: MPIJob\n"
    report = check(text)
    assert (report.jobs, report.mistakes, report.skipped) == (1, [], ["ConfigMap", "MPIJob"])


@pytest.mark.parametrize("kind", ["MPIJob", "JAXJob", "PaddleJob", "Notebook", "Experiment"])
def test_a_kind_of_somebody_else_in_the_same_group_is_not_taken_for_ours(kind: str) -> None:
    assert check(f"apiVersion: kubeflow.org/v1\nkind: {kind}\n").skipped == [kind]


def test_the_items_of_a_list_are_checked_each() -> None:
    item = JOB.replace("replicas: 2", "replica: 2").replace("\n", "\n    ").rstrip()
    found = check(f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n  - {item}\n").mistakes
    assert [(m.line, m.column, m.path, m.name) for m in found] == [
        (11, 11, "spec.tfReplicaSpecs.Worker.replica", "mnist"),
        (27, 11, "spec.tfReplicaSpecs.Worker.replica", "mnist"),
    ]


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "5\n"])
def test_what_is_no_object_is_a_mistake(text: str) -> None:
    assert "this is no Kubernetes object" in mistakes(text)[0]


def test_a_mistake_in_a_shared_template_is_told_for_each_role_at_its_one_place() -> None:
    text = dedent(
        """\
        apiVersion: kubeflow.org/v1
        kind: TFJob
        metadata: {name: mnist}
        spec:
          tfReplicaSpecs:
            Chief: {template: &t {spec: {containers: [{name: tensorflow, image: 1}]}}}
            Worker: {template: *t}
        """
    )
    found = check(text).mistakes
    assert {(m.line, m.column) for m in found} == {(6, 73)}
    assert [m.path.split(".")[2] for m in found] == ["Chief", "Worker"]
