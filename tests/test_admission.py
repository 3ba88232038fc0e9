"""What the API server refuses and in which words; and that the operator would have said the same."""

from __future__ import annotations

import itertools
import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.controlplane import Cluster
from trainop import registry
from trainop.framework import Framework
from trainop.parse import parse

if TYPE_CHECKING:  # it takes most of a second to import
    from kubernetes.client import CoreV1Api

Tweak = tuple[str, Any]
"""A place in a job and what is written there; ROLES stands for the field of the framework."""
ABSENT = object()
WORKER = "spec/ROLES/Worker"
CONTAINER = f"{WORKER}/template/spec/containers/0"
NAME_OF_54, NAME_OF_55 = "a" * 54, "a" * 55  # with -worker-0 the one just fits

GOOD: dict[str, dict[str, Any]] = {
    "tensorflow": {"kind": "TFJob", "spec": {"tfReplicaSpecs": {"Chief": {}, "PS": {}, "Worker": {}}}},
    "mxnet": {
        "kind": "MXJob",
        "spec": {"jobMode": "MXTrain", "mxReplicaSpecs": {"Scheduler": {}, "Server": {}, "Worker": {}}},
    },
}


def job(framework: Framework[Any], *tweaks: Tweak) -> dict[str, Any]:
    """A good job of that framework, then tweaked."""
    made = deepcopy(GOOD[framework.name])
    made |= {"apiVersion": framework.gvk.api_version, "metadata": {"name": "mnist"}}
    for role in made["spec"][framework.replicas_field].values():
        containers = [{"name": framework.container, "image": "train"}]
        role |= {"replicas": 2, "template": {"spec": {"containers": containers}}}
    for place, value in sorted(tweaks, key=lambda tweak: -tweak[0].count("/")):
        _put(made, place.replace("ROLES", framework.replicas_field).split("/"), value)
    return made


def _put(into: Any, steps: list[str], value: Any) -> None:
    *above, last = steps
    for step in above:
        into = into[0] if step == "0" else into.setdefault(step, {})
    if value is ABSENT:
        into.pop(last, None)
    else:
        into[last] = deepcopy(value)


class Server:
    """Asks the API server what it thinks of a job, without leaving one there."""

    def __init__(self, core_api: CoreV1Api) -> None:
        from kubernetes.client import CustomObjectsApi

        self._api = CustomObjectsApi(core_api.api_client)

    def complaints(self, framework: Framework[Any], body: dict[str, Any]) -> list[str]:
        """`FIELD: MESSAGE` for each; none when it would be taken."""
        from kubernetes.client import ApiException

        try:
            self._api.create_namespaced_custom_object(
                *framework.gvk[:2], "default", framework.plural, body, dry_run="All"
            )
        except ApiException as refusal:
            if refusal.status not in (400, 422):
                raise
            answer = json.loads(refusal.body or "")
            causes = answer["details"].get("causes") or [{"field": "", "message": answer["message"]}]
            return [f"{cause['field']}: {cause['message']}" for cause in causes]
        return []


@pytest.fixture(scope="session")
def server(crds: Cluster, core_api: CoreV1Api) -> Server:
    return Server(core_api)


# The rules of trainop/rules.py: how a job breaks each, and what is said about which field.
RULES: dict[str, tuple[str, list[Tweak], str, str]] = {
    "no container of the framework's name": (
        "tensorflow",
        [(f"{CONTAINER}/name", "trainer")],
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "tensorflow"',
    ),
    "no container of the framework's name in an MXJob": (
        "mxnet",
        [(f"{CONTAINER}/name", "trainer")],
        "spec.mxReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "mxnet"',
    ),
    "no containers": (
        "tensorflow",
        [(f"{WORKER}/template/spec/containers", [])],
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "tensorflow"',
    ),
    "no image": (
        "tensorflow",
        [(f"{CONTAINER}/image", ABSENT)],
        "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image: Required value",
        "an image is needed",
    ),
    "an unknown role": (
        "tensorflow",
        [("spec/ROLES/Wroker", {"template": {}})],
        "spec.tfReplicaSpecs: Forbidden",
        "the roles of a TFJob are Chief, Master, PS, Worker, Evaluator (in any letter case)",
    ),
    "two roles that differ only by case": (
        "tensorflow",
        [("spec/ROLES/worker", {"template": {}})],
        "spec.tfReplicaSpecs: Forbidden",
        "two roles have the same name in different letter case: keep one of them",
    ),
    "Chief and Master": (
        "tensorflow",
        [
            (
                "spec/ROLES/Master",
                {"template": {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}},
            )
        ],
        "spec.tfReplicaSpecs: Forbidden",
        "Chief and Master are two names of one role: keep one of them",
    ),
    "zero deciding replicas": (
        "tensorflow",
        [("spec/ROLES/Chief/replicas", 0)],
        "spec.tfReplicaSpecs: Required value",
        "the role that decides the outcome (Chief or Master, else Worker) needs at least one replica",
    ),
    "zero deciding replicas without a scheduler": (
        "mxnet",
        [("spec/ROLES/Scheduler", ABSENT), (f"{WORKER}/replicas", 0)],
        "spec.mxReplicaSpecs: Required value",
        "the role that decides the outcome (Scheduler, else Worker, else Tuner) needs at least one replica",
    ),
    "no deciding role": (
        "tensorflow",
        [("spec/ROLES/Chief", ABSENT), (WORKER, ABSENT)],
        "spec.tfReplicaSpecs: Required value",
        "the role that decides the outcome (Chief or Master, else Worker) needs at least one replica",
    ),
    "a name too long": (
        "tensorflow",
        [("metadata/name", NAME_OF_55)],
        'metadata.name: Invalid value: "object"',
        "too long: NAME-role-index, the name of a pod and a service, may have 63 characters at most",
    ),
    "a name that a service may not have": (
        "tensorflow",
        [("metadata/name", "4mnist")],
        'metadata.name: Invalid value: "object"',
        "must be a DNS label that starts with a letter: a-z, 0-9 and '-', such as mnist-1",
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_a_broken_rule_is_told_with_its_path_and_in_the_words_of_the_operator(
    server: Server, case: str
) -> None:
    name, tweaks, field, words = RULES[case]
    framework = registry.by_name()[name]
    wrong = job(framework, *tweaks)
    assert f"{field}: {words}" in server.complaints(framework, wrong)
    assert words in [problem.message for problem in parse(framework, wrong).problems]


# What the schema does not allow, and the API server's words for it.
SCHEMA: dict[str, tuple[str, Tweak, str, str]] = {
    "a word for a number": (
        "tensorflow",
        (f"{WORKER}/replicas", "two"),
        "spec.tfReplicaSpecs.Worker.replicas",
        "must be of type integer",
    ),
    "an unknown restartPolicy": (
        "tensorflow",
        (f"{WORKER}/restartPolicy", "Sometimes"),
        "spec.tfReplicaSpecs.Worker.restartPolicy",
        'supported values: "Always", "OnFailure", "Never", "ExitCode"',
    ),
    "an unknown cleanPodPolicy": (
        "tensorflow",
        ("spec/runPolicy/cleanPodPolicy", "Some"),
        "spec.runPolicy.cleanPodPolicy",
        'supported values: "None", "Running", "All"',
    ),
    "an unknown successPolicy": (
        "tensorflow",
        ("spec/successPolicy", "Some"),
        "spec.successPolicy",
        'supported values: "", "AllWorkers"',
    ),
    "an unknown manager": (
        "tensorflow",
        ("spec/runPolicy/managedBy", "me"),
        "spec.runPolicy.managedBy",
        'supported values: "", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
    ),
    "an unknown jobMode": (
        "mxnet",
        ("spec/jobMode", "Train"),
        "spec.jobMode",
        'supported values: "MXTrain", "MXTune"',
    ),
    "no jobMode": ("mxnet", ("spec/jobMode", ABSENT), "spec.jobMode", "Required value"),
    "no spec": ("tensorflow", ("spec", ABSENT), "spec", "Required value"),
    "no roles": ("tensorflow", ("spec/ROLES", ABSENT), "spec.tfReplicaSpecs", "Required value"),
    "an empty map of roles": (
        "tensorflow",
        ("spec/ROLES", {}),
        "spec.tfReplicaSpecs",
        "should have at least 1 properties",
    ),
    "a role that is null": (
        "tensorflow",
        ("spec/ROLES", {"Worker": None}),
        "spec.tfReplicaSpecs",
        "should have at least 1 properties",
    ),
    "no template": (
        "tensorflow",
        (f"{WORKER}/template", ABSENT),
        "spec.tfReplicaSpecs.Worker.template",
        "Required value",
    ),
    "a negative backoffLimit": (
        "tensorflow",
        ("spec/runPolicy/backoffLimit", -1),
        "spec.runPolicy.backoffLimit",
        "should be greater than or equal to 0",
    ),
    "a negative time to live, in the old place": (
        "mxnet",
        ("spec/ttlSecondsAfterFinished", -1),
        "spec.ttlSecondsAfterFinished",
        "should be greater than or equal to 0",
    ),
    "a deadline of zero": (
        "tensorflow",
        ("spec/runPolicy/activeDeadlineSeconds", 0),
        "spec.runPolicy.activeDeadlineSeconds",
        "should be greater than or equal to 1",
    ),
    "more replicas than anyone can mean": (
        "tensorflow",
        (f"{WORKER}/replicas", 10_001),
        "spec.tfReplicaSpecs.Worker.replicas",
        "should be less than or equal to 10000",
    ),
}


@pytest.mark.parametrize("case", SCHEMA)
def test_what_the_schema_does_not_allow_is_refused_with_its_path(server: Server, case: str) -> None:
    name, tweak, field, words = SCHEMA[case]
    framework = registry.by_name()[name]
    wrong = job(framework, tweak)
    complaints = server.complaints(framework, wrong)
    assert any(found.startswith(f"{field}: ") and words in found for found in complaints), complaints
    assert any(problem.path.startswith(field) for problem in parse(framework, wrong).problems)


def test_broken_rules_and_limits_are_told_all_at_once(server: Server) -> None:
    tensorflow = registry.by_name()["tensorflow"]
    wrong = job(
        tensorflow,
        ("metadata/name", "4mnist"),
        ("spec/backoffLimit", -1),
        ("spec/ROLES/Chief/replicas", 0),
        ("spec/ROLES/Wroker", {"template": {}}),
        (f"{CONTAINER}/name", "trainer"),
        (f"{CONTAINER}/image", ""),
    )
    fields = {complaint.partition(": ")[0] for complaint in server.complaints(tensorflow, wrong)}
    assert fields == {
        "metadata.name",
        "spec.backoffLimit",
        "spec.tfReplicaSpecs",
        "spec.tfReplicaSpecs[Worker].template.spec.containers",
        "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image",
        "spec.tfReplicaSpecs[Wroker].template.spec.containers",
    }


def test_as_long_as_a_word_is_wrong_rules_are_not_looked_at_and_the_server_says_so(server: Server) -> None:
    tensorflow = registry.by_name()["tensorflow"]
    wrong = job(tensorflow, (f"{WORKER}/restartPolicy", "Sometimes"), (f"{CONTAINER}/name", "trainer"))
    complaints = server.complaints(tensorflow, wrong)
    assert len(complaints) == 2
    assert "some validation rules were not checked" in complaints[1]


LIMITS = ("backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds")
GANG = "spec/runPolicy/schedulingPolicy"
TWEAKS: dict[str, list[Any]] = {
    "metadata/name": [
        "a",
        "mnist-1",
        "4mnist",
        "mnist-",
        "mn.ist",
        "MNIST",
        NAME_OF_54,
        NAME_OF_55,
        "a" * 64,
    ],
    "spec": [ABSENT, None, {}, [], "text"],
    "spec/ROLES": [ABSENT, None, {}, [], {"Worker": None}, {"Worker": {}}, {"Worker": []}],
    **{f"spec/ROLES/{role}": [ABSENT] for role in ("Chief", "Scheduler", "PS", "Worker")},
    **{f"spec/ROLES/{role}/replicas": [0] for role in ("Chief", "Scheduler", "PS", "Server")},
    **{
        f"spec/ROLES/{role}": [None, {}, {"template": None}, {"template": {"spec": {}}}]
        for role in ("worker", "WORKER", "Master", "Evaluator", "Wroker", "")
    },
    f"{WORKER}/replicas": [None, 0, 1, 10_000, 10_001, -1, "2", 1.0, 1.5, True, [], 2**40, 2**70],
    f"{WORKER}/restartPolicy": [None, "Always", "OnFailure", "Never", "ExitCode", "always", "", 1],
    f"{WORKER}/template": [ABSENT, None, {}, [], "text", {"spec": None}, {"spec": {}}],
    f"{WORKER}/template/metadata": [None, {}, [], {"labels": {"a": "b"}}, {"labels": []}],
    f"{WORKER}/template/spec/containers": [None, [], {}, "text", [{}], [{"image": "i"}], ["text"]],
    f"{CONTAINER}/name": [None, "trainer", "", 1],
    f"{CONTAINER}/image": [ABSENT, None, "", 1],
    f"{CONTAINER}/env": [None, [], {}, [{"name": "A"}], [{"value": "A"}]],
    f"{CONTAINER}/ports": [None, [], {}, [{"containerPort": 1}], [{"name": "a"}], [{"containerPort": "a"}]],
    "spec/runPolicy": [None, {}, [], "text"],
    **{
        f"spec/{place}{limit}": [None, -1, 0, 1, "1", 1.5, True, 2**40]
        for place in ("", "runPolicy/")
        for limit in LIMITS
    },
    **{
        f"spec/{place}cleanPodPolicy": [None, "All", "Running", "None", "", "all", False]
        for place in ("", "runPolicy/")
    },
    "spec/runPolicy/suspend": [None, True, False, "true", 1],
    "spec/runPolicy/managedBy": [None, "", "kueue.x-k8s.io/multikueue", "me", 1],
    GANG: [None, {}, [], "text"],
    **{f"{GANG}/{count}": [None, 0, -1, 2, "2"] for count in ("minAvailable", "scheduleTimeoutSeconds")},
    **{f"{GANG}/{word}": [None, "", "high", 1] for word in ("queue", "priorityClass")},
    f"{GANG}/minResources": [None, {}, [], {"cpu": 1}, {"cpu": "500m"}, {"cpu": 1.5}, {"cpu": None}],
    "spec/successPolicy": [None, "", "AllWorkers", "allworkers", 1],
    "spec/enableDynamicWorker": [None, True, False, "yes"],
    "spec/jobMode": [ABSENT, None, "MXTrain", "MXTune", "Train", ""],
}


@pytest.mark.parametrize("name", GOOD)
def test_the_api_server_and_the_operator_refuse_the_same_jobs(server: Server, name: str) -> None:
    framework = registry.by_name()[name]
    single = [(place, value) for place, values in TWEAKS.items() for value in values]
    pairs = [*itertools.combinations(single, 2)][::97]
    refused = 0
    for tweaks in [(), *((tweak,) for tweak in single), *pairs]:
        body = job(framework, *tweaks)
        complaints, problems = server.complaints(framework, body), parse(framework, body).problems
        assert bool(complaints) == bool(problems), (tweaks, complaints, problems)
        refused += bool(complaints)
    assert 50 < refused < len(single) + len(pairs) - 50


# On purpose: the operator looks into a pod template only as far as it needs to.
ONLY_THE_SERVER_MINDS: list[Tweak] = [
    (f"{CONTAINER}/resources", {"limits": {"cpu": "lots"}}),
    (f"{CONTAINER}/env", [{"name": "A", "value": 1}]),
    (f"{WORKER}/template/spec/restartPolicy", 1),
    (f"{GANG}/minResources", {"cpu": True}),
]


@pytest.mark.parametrize("tweak", ONLY_THE_SERVER_MINDS, ids=lambda tweak: tweak[0])
def test_what_only_the_api_server_minds(server: Server, tweak: Tweak) -> None:
    tensorflow = registry.by_name()["tensorflow"]
    wrong = job(tensorflow, tweak)
    assert server.complaints(tensorflow, wrong)
    assert not parse(tensorflow, wrong).problems


def test_a_whole_number_written_as_a_fraction_is_minded_by_the_operator_only(server: Server) -> None:
    """It never sees one in a cluster: the API server stores 1.0 as 1."""
    tensorflow = registry.by_name()["tensorflow"]
    odd = job(tensorflow, ("spec/runPolicy/backoffLimit", 1.0))
    assert not server.complaints(tensorflow, odd)
    assert parse(tensorflow, odd).problems
