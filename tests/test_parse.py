"""From what a user wrote to a Job. kubeflow-v1 §1.3-1.5; DECISIONS "validation", "roles", "numbers", "old places"."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import MX, NOW, TF, Raw, a_job, a_manifest, a_status, a_template
from trainop.api.spec import CleanPodPolicy, RestartPolicy
from trainop.engine.plan import plan
from trainop.framework import Framework
from trainop.model import Job, World
from trainop.parse import parse


def problems(job: Job[Any]) -> dict[str, str]:
    return {problem.path: problem.message for problem in job.problems}


# --- defaults: §1.3, §1.4 -----------------------------------------------------------------------------------


def test_what_is_not_written_has_the_default() -> None:
    """DECISIONS "default `cleanPodPolicy`": Running."""
    job = a_job(TF, Worker={})
    worker = job.replicas["Worker"]
    assert (worker.replicas, worker.restart_policy) == (1, RestartPolicy.NEVER)
    assert job.policy.clean_pod_policy is CleanPodPolicy.RUNNING
    assert (job.policy.ttl_seconds_after_finished, job.policy.active_deadline_seconds) == (None, None)
    assert (job.policy.backoff_limit, job.policy.suspend, job.policy.ours) == (None, False, True)
    assert (job.spec.success_policy, job.spec.enable_dynamic_worker) == (None, False)


def test_the_metadata_of_the_job() -> None:
    job = a_job(TF, Worker=1)
    assert (job.name, job.namespace, job.uid, job.resource_version, job.generation) == (
        *("mnist", "ns", "job-uid", "1", 1),
    )
    assert str(job.key) == "TFJob ns/mnist"
    assert not job.deleting


def test_a_job_with_a_deletion_timestamp_is_going() -> None:
    assert a_job(TF, Worker=1, metadata={"deletionTimestamp": "2024-05-01T12:00:00Z"}).deleting
    assert not a_job(TF, Worker=1, metadata={"deletionTimestamp": None}).deleting


def test_the_status_is_read_as_it_was_stored() -> None:
    status = a_status("Created", "!Running", start_time=NOW, restart_count=2)
    assert a_job(TF, Worker=1, status=status).status == status


@pytest.mark.parametrize("status", [None, "x", [], {"conditions": 1}, {"startTime": "yesterday"}])
def test_a_status_that_cannot_be_read_is_a_fresh_one(status: Any) -> None:
    job = parse(TF, a_manifest(TF, Worker=1) | {"status": status})
    assert (job.status, job.problems) == (a_status(), ())


# --- nulls: a field set to null is a field not set, as for the API server -----------------------------------


def test_null_is_not_set() -> None:
    nothing = {"replicas": None, "restartPolicy": None}
    limits = {
        "cleanPodPolicy": None,
        "backoffLimit": None,
        "suspend": None,
        "schedulingPolicy": {"queue": None},
    }
    job = a_job(TF, Worker=nothing, policy=limits, spec={"successPolicy": None, "cleanPodPolicy": None})
    assert job.problems == ()
    assert job.replicas["Worker"].replicas == 1
    assert job.policy.clean_pod_policy is CleanPodPolicy.RUNNING


def test_a_role_set_to_null_is_not_there() -> None:
    """kubeflow-v1 T23."""
    raw = a_manifest(TF, Worker=1)
    raw["spec"]["tfReplicaSpecs"]["PS"] = None
    assert list(parse(TF, raw).replicas) == ["Worker"]
    raw["spec"]["tfReplicaSpecs"]["Worker"] = None
    assert problems(parse(TF, raw)) == {"spec.tfReplicaSpecs": "at least one is needed"}


# --- roles: DECISIONS "roles" -------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["Worker", "worker", "WORKER", "wORKER"])
def test_a_role_may_be_written_in_any_letter_case(spelling: str) -> None:
    assert list(a_job(TF, **{spelling: 1}).replicas) == ["Worker"]


def test_the_roles_of_a_tuning_run_too() -> None:
    """§1.5: the old operator normalised only three roles of MXJob."""
    job = a_job(MX, tunertracker=1, TUNERSERVER=1, tuner=1, spec={"jobMode": "MXTune"})
    assert list(job.replicas) == ["TunerTracker", "TunerServer", "Tuner"]


def test_roles_stand_in_the_frameworks_order() -> None:
    job = a_job(TF, Evaluator=1, Worker=1, PS=1, Chief=1)
    assert list(job.replicas) == ["Chief", "PS", "Worker", "Evaluator"]


def test_an_unknown_role_is_refused_and_the_known_ones_are_told() -> None:
    job = a_job(TF, Worker=1, Wroker=1)
    assert problems(job) == {
        "spec.tfReplicaSpecs.Wroker": (
            "the roles of a TFJob are Chief, Master, PS, Worker, Evaluator (in any letter case)"
        )
    }


def test_two_spellings_of_one_role_are_refused() -> None:
    assert list(problems(a_job(TF, Worker=1, worker=2))) == ["spec.tfReplicaSpecs.worker"]


# --- the old places of run-policy fields: DECISIONS "typos in old places" -----------------------------------

OLD: Raw = {
    "cleanPodPolicy": "None",
    "ttlSecondsAfterFinished": 1,
    "activeDeadlineSeconds": 2,
    "backoffLimit": 3,
}
NEW: Raw = {
    "cleanPodPolicy": "All",
    "ttlSecondsAfterFinished": 4,
    "activeDeadlineSeconds": 5,
    "backoffLimit": 6,
}


@pytest.mark.parametrize(
    ("beside", "inside", "expected"), [(OLD, None, OLD), (OLD, {}, OLD), ({}, NEW, NEW), (OLD, NEW, NEW)]
)
def test_run_policy_wins_over_the_old_places(beside: Raw, inside: Raw | None, expected: Raw) -> None:
    policy = a_job(TF, Worker=1, spec=beside, policy=inside).policy
    assert {name: policy.model_dump(by_alias=True, mode="json")[name] for name in expected} == expected


def test_each_field_is_looked_up_by_itself() -> None:
    policy = a_job(
        TF, Worker=1, spec={"backoffLimit": 3}, policy={"suspend": True, "cleanPodPolicy": "All"}
    ).policy
    assert (policy.backoff_limit, policy.suspend, policy.clean_pod_policy) == (3, True, CleanPodPolicy.ALL)


# --- mistakes: every one, with its path and in words a user can act on --------------------------------------


@pytest.mark.parametrize(
    ("words", "path", "message"),
    [
        ({"Worker": -1}, "tfReplicaSpecs.Worker.replicas", "must be at least 0, not -1"),
        ({"Worker": 10_001}, "tfReplicaSpecs.Worker.replicas", "must be at most 10000, not 10001"),
        ({"Worker": "2"}, "tfReplicaSpecs.Worker.replicas", "must be a whole number, not '2'"),
        ({"Worker": 1.5}, "tfReplicaSpecs.Worker.replicas", "must be a whole number, not 1.5"),
        ({"Worker": True}, "tfReplicaSpecs.Worker.replicas", "must be a whole number, not True"),
        (
            {"Worker": {"restartPolicy": "Sometimes"}},
            "tfReplicaSpecs.Worker.restartPolicy",
            "must be Always, OnFailure, Never or ExitCode, not 'Sometimes'",
        ),
        ({"Worker": {"template": None}}, "tfReplicaSpecs.Worker.template", "is required"),
        (
            {"Worker": {"template": []}},
            "tfReplicaSpecs.Worker.template",
            "must be a mapping of names to values, not a list",
        ),
        (
            {"policy": {"activeDeadlineSeconds": 0}},
            "runPolicy.activeDeadlineSeconds",
            "must be at least 1, not 0",
        ),
        ({"policy": {"backoffLimit": -1}}, "runPolicy.backoffLimit", "must be at least 0, not -1"),
        (
            {"policy": {"ttlSecondsAfterFinished": -1}},
            "runPolicy.ttlSecondsAfterFinished",
            "must be at least 0, not -1",
        ),
        (
            {"policy": {"cleanPodPolicy": "Runing"}},
            "runPolicy.cleanPodPolicy",
            "must be None, Running or All, not 'Runing'",
        ),
        ({"policy": {"suspend": "yes"}}, "runPolicy.suspend", "must be true or false, not 'yes'"),
        ({"spec": {"backoffLimit": -1}}, "backoffLimit", "must be at least 0, not -1"),
        (
            {"spec": {"successPolicy": "AllWorker"}},
            "successPolicy",
            "must be '' or AllWorkers, not 'AllWorker'",
        ),
        ({"spec": {"runPolicy": []}}, "runPolicy", "must be a mapping of names to values, not a list"),
    ],
)
def test_a_mistake_is_told_with_its_place(words: Raw, path: str, message: str) -> None:
    """DECISIONS "numbers", "validation"; kubeflow-v1 T18."""
    job = a_job(TF, **{"Worker": 1, **words})
    assert problems(job) == {f"spec.{path}": message}
    assert job.replicas == {}


@pytest.mark.parametrize("given", [True, 1.5, "lots", "1\n", []])
def test_a_quantity_is_a_whole_number_or_text_of_its_form(given: Any) -> None:
    job = a_job(TF, Worker=1, policy={"schedulingPolicy": {"minResources": {"cpu": given}}})
    message = f"must be a quantity such as 2, 500m or 1.5Gi, not {given!r}"
    assert problems(job) == {"spec.runPolicy.schedulingPolicy.minResources.cpu": message}


def test_every_mistake_is_told_at_once() -> None:
    """DECISIONS "validation": all errors at once."""
    job = a_job(
        TF,
        name="Mnist_1",
        Worker={"replicas": -1, "restartPolicy": "x"},
        PS={"template": None},
        policy={"backoffLimit": "3"},
    )
    assert set(problems(job)) == {
        "metadata.name",
        "spec.tfReplicaSpecs.Worker.replicas",
        "spec.tfReplicaSpecs.Worker.restartPolicy",
        "spec.tfReplicaSpecs.PS.template",
        "spec.runPolicy.backoffLimit",
    }


def test_rules_and_role_names_are_told_at_once_too() -> None:
    job = a_job(TF, name="x" * 63, Worker={"template": a_template("main")}, Cook=1)
    assert set(problems(job)) == {
        "metadata.name",
        "spec.tfReplicaSpecs.Cook",
        "spec.tfReplicaSpecs.Worker.template.spec.containers",
    }


@pytest.mark.parametrize(
    ("framework", "spec", "paths"),
    [
        (TF, None, {"spec.tfReplicaSpecs"}),
        (TF, {}, {"spec.tfReplicaSpecs"}),
        (TF, {"tfReplicaSpecs": {}}, {"spec.tfReplicaSpecs"}),
        (TF, {"mxReplicaSpecs": {}}, {"spec.tfReplicaSpecs"}),
        (TF, "x", {"spec"}),
        (MX, {}, {"spec.mxReplicaSpecs", "spec.jobMode"}),
    ],
)
def test_what_is_missing(framework: Framework[Any], spec: Any, paths: set[str]) -> None:
    """DECISIONS "roles": at least one role; kubeflow-v1 §7: jobMode is required."""
    raw = {"metadata": {"name": "mnist"}, "spec": spec}
    assert set(problems(parse(framework, raw))) == paths


@pytest.mark.parametrize(
    ("mode", "fine"), [("MXTrain", True), ("MXTune", True), ("Train", False), ("", False)]
)
def test_the_modes_of_an_mxjob(mode: str, fine: bool) -> None:
    assert bool(a_job(MX, Worker=1, spec={"jobMode": mode}).problems) is not fine


# --- strict: for files, where a typo should not pass --------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"spec": {"sucessPolicy": ""}}, "spec.sucessPolicy"),
        ({"spec": {"backoff_limit": 1}}, "spec.backoff_limit"),
        ({"policy": {"suspended": True}}, "spec.runPolicy.suspended"),
        ({"Worker": {"replica": 1}}, "spec.tfReplicaSpecs.Worker.replica"),
    ],
)
def test_a_field_nobody_knows_is_a_mistake_only_in_strict_mode(words: Raw, path: str) -> None:
    raw = a_manifest(TF, **{"Worker": 1, **words})
    assert parse(TF, raw).problems == ()
    assert problems(parse(TF, raw, strict=True)) == {path: "unknown field"}


def test_strict_mode_leaves_the_template_alone() -> None:
    raw = a_manifest(TF, Worker={"template": a_template(brandNewField=1)})
    assert parse(TF, raw, strict=True).problems == ()


# --- never raises -------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "name",
        "namespace",
        "tfReplicaSpecs",
        "mxReplicaSpecs",
        "Worker",
        "Chief",
        "runPolicy",
        "managedBy",
        "template",
        "containers",
        "ports",
        "env",
        "labels",
        "annotations",
        "image",
        "replicas",
        "conditions",
        "startTime",
        "containerPort",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 12_000) | st.text(max_size=4) | st.just("tensorflow"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a manifest at which something else could stand."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


GOOD = a_manifest(
    TF,
    Worker={
        "replicas": 2,
        "restartPolicy": "ExitCode",
        "template": a_template(
            sidecar="log",
            ports=[{"name": "tfjob-port", "containerPort": 1}],
            env=[{"name": "A", "value": "b"}],
            metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}},
        ),
    },
    PS=1,
    policy={"backoffLimit": 1, "schedulingPolicy": {"queue": "a", "minResources": {"cpu": 1}}},
    status=a_status("Created", "Running", start_time=NOW, replica_statuses={"Worker": {"active": 1}}),
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.sampled_from(places(GOOD)[1:]), JSON)
def test_any_manifest_with_one_thing_wrong_is_parsed_and_planned(path: tuple[Any, ...], new: Any) -> None:
    """RELIABILITY L: a bad job is a condition that a person can read, never a traceback."""
    job = parse(TF, put(GOOD, path, new))
    answer = plan(TF, job, World(now=NOW))
    if job.problems and job.policy.ours and not job.deleting and not job.status.finished:
        left_alone = answer.trouble is not None and answer.trouble.reason == "InvalidSpec"
        assert left_alone if job.status.start_time else answer.status.is_true("Failed")


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.dictionaries(KEYS, JSON, max_size=5), st.booleans())
def test_anything_at_all_is_parsed(raw: Raw, strict: bool) -> None:
    for framework in (TF, MX):
        job = parse(framework, raw, strict=strict)
        assert job.problems or job.replicas
