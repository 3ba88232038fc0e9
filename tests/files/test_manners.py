"""Jobs of 2017 in files: every mistake at once, where it is written, in their own words or in those of today."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.files.test_checker import mistakes

JOB = """\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: {name: a}
spec:
  replica_specs:
  - tfReplicaType: WORKER
    tf_port: 2222
    replicas: 2
    template:
      spec:
        containers:
        - {name: log, image: log, ports: [{containerPort: 80}]}
        - {name: tensorflow, image: train, command: [python]}
  terminationPolicy: {chief: {replicaName: WORKER, replicaIndex: 1}}
  tensorboard: {logDir: /logs}
"""
TEMPLATE = "spec.replica_specs[0].template.spec.containers"


def test_a_good_one_has_none() -> None:
    assert mistakes(JOB) == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("2222", "many", "7:14: spec.replica_specs[0].tf_port: must be a whole number, not 'many' -> "),
        ("replicas: 2", "replicas: -1", "8:15: spec.replica_specs[0].replicas: must be at least 0, not -1 -> "),
        ("[python]", "python",
         f"13:53: {TEMPLATE}[1].command: must be a list, not 'python' -> begin each entry with '- '"),
        ("command:", "comand:", f"13:44: {TEMPLATE}[1].comand: unknown field -> write command"),
        ("{name: log, image: log", "{name: log",
         f"12:11: {TEMPLATE}[0].image: an image is needed -> write image: NAME:TAG"),
        ("replicaIndex: 1", "replicaIndex: one",
         "14:66: spec.terminationPolicy.chief.replicaIndex: must be a whole number, not 'one' -> "),
        ("replicaIndex: 1", "replicaIndex: 2",
         "14:66: spec.terminationPolicy.chief.replicaIndex: invalid termination policy: WORKER has no replica 2 -> "),
        ("logDir: /logs", "logDir: /logs, serviceType: Public",
         "15:45: spec.tensorboard.serviceType: must be '', ClusterIP, NodePort or LoadBalancer, not 'Public' -> "),
        ("spec:\n  re", "spec:\n  tfImage: 3\n  re", "5:12: spec.tfImage: must be text, not 3; put it in quotes -> "),
        ("spec:\n  re", "spec:\n  tfReplicaSpecs: {}\n  re",
         "5:3: spec.tfReplicaSpecs: unknown field -> write replicaSpecs"),
        ("spec:\n  re", "spec:\n  colour: red\n  re",
         "5:3: spec.colour: unknown field -> remove it; there are RuntimeId, activeDeadlineSeconds, backoffLimit, "
         "cleanPodPolicy, cleanupPodPolicy, replicaSpecs, runPolicy, schedulerName, tensorboard, terminationPolicy, "
         "tfImage, ttlSecondsAfterFinished"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_is_written(right: str, wrong: str, told: str) -> None:
    assert JOB.count(right) == 1
    assert mistakes(JOB.replace(right, wrong)) == [told]


def test_what_the_kind_has_words_for_does_not_hide_the_rest() -> None:
    entry = "{tfReplicaType: MASTER, replicas: 3, tfPrt: 1, template: {spec: {containers: [{image: 3}]}}}"
    text = JOB.replace("  terminationPolicy", indent(f"- {entry}\n- {entry}\n", "  ") + "  terminationPolicy")
    assert mistakes(text.replace("/logs", "[]")) == [
        "14:39: spec.replica_specs[1].replicas: The MASTER must have Replicas = 1 -> ",
        "14:42: spec.replica_specs[1].tfPrt: unknown field -> write tfPort",
        "14:52: spec.replica_specs[1].template: Replica type MASTER is missing a container named tensorflow -> ",
        '14:91: spec.replica_specs[1].template.spec.containers[0].image: must be text, not 3 -> write "3", in quotes',
        "15:5: spec.replica_specs[2]: Replica type MASTER is there twice: keep one of them -> ",
        "15:42: spec.replica_specs[2].tfPrt: unknown field -> write tfPort",
        "17:17: spec.tensorboard.logDir: must be text, not [] -> ",
    ]


def test_of_a_job_without_replicas_that_alone_is_told() -> None:
    text = "apiVersion: mlkube.io/v1beta1\nkind: MxJob\nmetadata: {name: a}\nspec: {jobMode: dist}\n"
    assert mistakes(text) == [
        f"4:1: spec.replicaSpecs: dist job mode without replica type {type_} -> "
        for type_ in ("SCHEDULER", "SERVER", "WORKER")
    ]
