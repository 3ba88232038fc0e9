"""What must hold between the fields of a job. kubeflow-v1 §8; DECISIONS "names", "roles", `replicas: 0`.

The same rules in CEL are tried on a real API server by the tests of the CRDs.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import MX, TF, Raw, a_job, a_manifest, a_template
from trainop import rules
from trainop.engine.topology import topology
from trainop.framework import LONGEST_VARIABLE, Framework
from trainop.parse import parse


def broken(framework: Framework[Any], **words: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in a_job(framework, **words).problems]


# --- containers: §8.1 ---------------------------------------------------------------------------------------

CONTAINERS = "spec.tfReplicaSpecs.Worker.template.spec.containers"


@pytest.mark.parametrize("template", [{}, {"spec": {}}, {"spec": {"containers": []}}, a_template("main")])
def test_one_container_is_the_frameworks(template: Raw) -> None:
    assert broken(TF, Worker={"template": template}) == [
        (CONTAINERS, 'one container must be named "tensorflow"')
    ]


def test_the_container_of_an_mxjob_has_another_name() -> None:
    (problem,) = broken(MX, Worker={"template": a_template("tensorflow")})
    assert problem == (
        "spec.mxReplicaSpecs.Worker.template.spec.containers",
        'one container must be named "mxnet"',
    )


@pytest.mark.parametrize("image", ["", None])
def test_every_container_needs_an_image(image: str | None) -> None:
    template = a_template(sidecar="log")
    template["spec"]["containers"][1]["image"] = image
    assert broken(TF, Worker={"template": template}) == [(f"{CONTAINERS}[1].image", "an image is needed")]


# --- who decides needs somebody: DECISIONS `replicas: 0`, kubeflow-v1 T3 ------------------------------------


@pytest.mark.parametrize(
    ("framework", "roles", "fine"),
    [
        (TF, {"Worker": 1, "PS": 0}, True),
        (TF, {"Chief": 1, "Worker": 0}, True),
        (TF, {"Worker": 0}, False),
        (TF, {"Chief": 0, "Worker": 2}, False),
        (TF, {"PS": 1}, False),
        (TF, {"Evaluator": 1}, False),
        (MX, {"Scheduler": 1, "Worker": 0}, True),
        (MX, {"Scheduler": 0, "Worker": 1}, False),
        (MX, {"Worker": 1}, True),
        (MX, {"Server": 1}, False),
        (MX, {"Tuner": 1, "TunerServer": 0}, True),
        (MX, {"TunerTracker": 1}, False),
    ],
)
def test_the_role_that_decides_has_replicas(
    framework: Framework[Any], roles: dict[str, int], fine: bool
) -> None:
    found = broken(framework, **roles)
    message = rules.deciding_message(framework)
    assert found == ([] if fine else [(f"spec.{framework.replicas_field}", message)])


def test_the_message_tells_who_decides() -> None:
    assert "(Chief or Master, else Worker)" in rules.deciding_message(TF)
    assert "(Tuner if jobMode is MXTune, else Scheduler, else Worker, else Tuner)" in rules.deciding_message(
        MX
    )


@pytest.mark.parametrize(
    ("mode", "roles", "fine"),
    [
        ("MXTune", {"Scheduler": 0, "Worker": 0, "Tuner": 1}, True),
        ("MXTune", {"Scheduler": 1, "Worker": 1, "Tuner": 0}, False),
        ("MXTrain", {"Scheduler": 1, "Worker": 1, "Tuner": 0}, True),
        ("MXTrain", {"Scheduler": 0, "Tuner": 1}, False),
        # Without a tuner the mode changes nothing: the old operator never looked at it.
        ("MXTune", {"Scheduler": 1}, True),
        ("MXTune", {"Worker": 0}, False),
        ("MXTune", {"TunerTracker": 1}, False),
    ],
)
def test_in_tune_mode_it_is_the_tuner_that_has_replicas(mode: str, roles: dict[str, int], fine: bool) -> None:
    assert bool(broken(MX, spec={"jobMode": mode}, **roles)) is not fine


# --- names: DECISIONS "names", kubeflow-v1 §8.1 and T25 -----------------------------------------------------


@pytest.mark.parametrize("name", ["a", "mnist", "mnist-1", "a1"])
def test_these_names_are_fine(name: str) -> None:
    assert broken(TF, name=name, Worker=1) == []


@pytest.mark.parametrize("name", ["", "1mnist", "Mnist", "mnist_1", "mnist-", "-mnist", "m.nist", "mnist\n"])
def test_a_name_is_a_dns_1035_label(name: str) -> None:
    assert broken(TF, name=name, Worker=1) == [("metadata.name", rules.name_message())]


@pytest.mark.parametrize(
    ("length", "roles", "fine"),
    [
        (54, {"Worker": 1}, True),  # name-worker-0
        (55, {"Worker": 1}, False),
        (54, {"Worker": 10}, True),
        (54, {"Worker": 11}, False),  # name-worker-10
        (53, {"Worker": 11}, True),
        (54, {"Worker": 1, "Evaluator": 1}, False),
        (54, {"Worker": 1, "Evaluator": 0}, True),
    ],
)
def test_the_name_of_the_longest_child_fits(length: int, roles: dict[str, int], fine: bool) -> None:
    assert broken(TF, name="x" * length, **roles) == (
        [] if fine else [("metadata.name", rules.length_message())]
    )


@pytest.mark.parametrize(
    ("generated", "fine"),
    [("mnist-", True), ("x" * 49, True), ("x" * 50, False), ("Mnist-", False), ("", False)],
)
def test_a_name_may_be_left_to_the_api_server(generated: str, fine: bool) -> None:
    """It adds five characters, so of 54 for NAME-worker-0 there are 49 left."""
    raw = a_manifest(TF, Worker=1)
    del raw["metadata"]["name"]
    raw["metadata"]["generateName"] = generated
    assert [problem.path for problem in parse(TF, raw).problems] == ([] if fine else ["metadata.name"])


def test_a_job_that_has_a_name_is_called_by_it() -> None:
    assert a_job(TF, Worker=1, metadata={"generateName": "other-"}).name == "mnist"


# --- what fits into TF_CONFIG -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "fine"),
    [
        ({"Worker": 4720}, True),
        ({"Worker": 4721}, False),
        ({"Chief": 1, "Worker": 4719}, True),
        ({"Chief": 1, "Worker": 4720}, False),
        ({"Evaluator": 1619, "PS": 1619, "Worker": 1619}, True),
        ({"Evaluator": 1620, "PS": 1620, "Worker": 1620}, False),
    ],
)
def test_nobody_gets_a_tf_config_that_no_process_can_be_started_with(
    roles: dict[str, int], fine: bool
) -> None:
    found = broken(TF, **roles)
    assert bool(found) is not fine
    assert broken(TF, **roles, spec={"enableDynamicWorker": True}) == []
    assert not found or found[0][0] == "spec.tfReplicaSpecs"


@pytest.mark.parametrize("roles", [{"Worker": 4721}, {"PS": 9, "Worker": 4715}, {"Chief": 1, "PS": 5507}])
def test_what_is_refused_is_too_much_in_the_shortest_namespace_with_the_shortest_port(roles: Raw) -> None:
    template = a_template(ports=[{"name": "tfjob-port", "containerPort": 1}])
    full = {role: {"replicas": count, "template": template} for role, count in roles.items()}
    job = a_job(TF, metadata={"namespace": "n"}, spec={"enableDynamicWorker": True}, **full)
    refused = replace(job, spec=job.spec.model_copy(update={"enable_dynamic_worker": False}))
    members = topology(TF, refused)
    (value,) = TF.bootstrap(refused, members)(next(iter(members))).values()
    assert broken(TF, **roles)
    assert len(value) > LONGEST_VARIABLE


def test_a_rule_of_the_framework_is_told_with_its_field() -> None:
    assert broken(TF, Chief=1, Master=1) == [
        ("spec.tfReplicaSpecs", "Chief and Master are two names of one role: keep one of them")
    ]
