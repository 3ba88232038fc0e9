"""What the API server refuses and in which words; and that the operator would have said the same."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from tests.admission import ABSENT, CONTAINER, GOOD, WORKER, Server, Tweak, job
from tests.admission_cases import RULES, SCHEMA
from tests.admission_tweaks import TWEAKS
from tests.cluster.controlplane import Cluster
from trainop import registry
from trainop.parse import parse

if TYPE_CHECKING:  # it takes most of a second to import
    from kubernetes.client import CoreV1Api


@pytest.fixture(scope="session")
def server(crds: Cluster, core_api: CoreV1Api) -> Server:
    return Server(core_api)


@pytest.mark.parametrize("case", RULES)
def test_a_broken_rule_is_told_with_its_path_and_in_the_words_of_the_operator(
    server: Server, case: str
) -> None:
    name, tweaks, field, words = RULES[case]
    framework = registry.by_name()[name]
    wrong = job(framework, *tweaks)
    assert f"{field}: {words}" in server.complaints(framework, wrong)
    assert words in [problem.message for problem in parse(framework, wrong).problems]


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


def test_the_limit_of_tf_config_is_the_same_for_both(server: Server) -> None:
    tensorflow = registry.by_name()["tensorflow"]

    def of(workers: int, *more: Tweak) -> dict[str, Any]:
        return job(tensorflow, (f"{WORKER}/replicas", workers), *more)

    first = next(workers for workers in range(4_000, 5_000) if parse(tensorflow, of(workers)).problems)
    assert server.complaints(tensorflow, of(first - 1)) == []
    assert server.complaints(tensorflow, of(first))
    assert server.complaints(tensorflow, of(first, ("spec/enableDynamicWorker", True))) == []


@pytest.mark.parametrize(("generated", "fine"), [("mnist-", True), ("a" * 49, True), ("a" * 50, False)])
def test_a_name_that_the_server_makes_is_held_to_the_same_rules(
    server: Server, generated: str, fine: bool
) -> None:
    tensorflow = registry.by_name()["tensorflow"]
    nameless = job(tensorflow, ("metadata", {"generateName": generated}), ("spec/ROLES/Chief", ABSENT))
    assert (server.complaints(tensorflow, nameless) == []) is fine
    assert (parse(tensorflow, nameless).problems == ()) is fine
