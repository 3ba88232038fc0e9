"""TF_CONFIG byte for byte, and who decides. kubeflow-v1 §2, §5.8, §8; DECISIONS as cited."""

from functools import partial
from typing import Any

import pytest

from tests import builders
from tests.builders import TF, Raw, a_job, a_template, verdict
from trainop.model import Failed, Succeeded, Undecided, Verdict

environments = partial(builders.environments, TF)


def on_port(port: int) -> Raw:
    return {"template": a_template(ports=[{"name": "tfjob-port", "containerPort": port}])}


# --- TF_CONFIG: §2.2 ----------------------------------------------------------------------------------------


def test_the_example_of_the_contract() -> None:
    assert environments(PS=1, Worker=1)["mnist-worker-0"] == {
        "TF_CONFIG": '{"cluster":{"ps":["mnist-ps-0.ns.svc:2222"],"worker":["mnist-worker-0.ns.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    }


def test_every_role_is_in_the_cluster_sorted_by_name() -> None:
    """The evaluator is included; the roles are in lower case."""
    found = environments(Worker=2, PS=1, Chief=1, Evaluator=1)
    cluster = (
        '{"cluster":{"chief":["mnist-chief-0.ns.svc:2222"],"evaluator":["mnist-evaluator-0.ns.svc:2222"],'
        '"ps":["mnist-ps-0.ns.svc:2222"],'
        '"worker":["mnist-worker-0.ns.svc:2222","mnist-worker-1.ns.svc:2222"]},'
    )
    tasks = {
        "mnist-chief-0": '"task":{"type":"chief","index":0}',
        "mnist-ps-0": '"task":{"type":"ps","index":0}',
        "mnist-worker-0": '"task":{"type":"worker","index":0}',
        "mnist-worker-1": '"task":{"type":"worker","index":1}',
        "mnist-evaluator-0": '"task":{"type":"evaluator","index":0}',
    }
    assert found == {
        name: {"TF_CONFIG": f'{cluster}{task},"environment":"cloud"}}'} for name, task in tasks.items()
    }


def test_a_master_is_called_master() -> None:
    found = environments(Master=1, Worker=1)["mnist-master-0"]["TF_CONFIG"]
    assert found == (
        '{"cluster":{"master":["mnist-master-0.ns.svc:2222"],"worker":["mnist-worker-0.ns.svc:2222"]},'
        '"task":{"type":"master","index":0},"environment":"cloud"}'
    )


def test_a_role_without_replicas_is_an_empty_list() -> None:
    found = environments(Worker=2, PS=0)["mnist-worker-0"]["TF_CONFIG"]
    assert found == (
        '{"cluster":{"ps":[],"worker":["mnist-worker-0.ns.svc:2222","mnist-worker-1.ns.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_each_role_has_its_own_port() -> None:
    found = environments(Worker=on_port(3333), PS=1)["mnist-ps-0"]["TF_CONFIG"]
    assert found == (
        '{"cluster":{"ps":["mnist-ps-0.ns.svc:2222"],"worker":["mnist-worker-0.ns.svc:3333"]},'
        '"task":{"type":"ps","index":0},"environment":"cloud"}'
    )


def test_the_cluster_domain_is_part_of_the_host() -> None:
    found = environments(cluster_domain="cluster.local", Worker=2)["mnist-worker-1"]["TF_CONFIG"]
    assert found == (
        '{"cluster":{"worker":["mnist-worker-0.ns.svc.cluster.local:2222",'
        '"mnist-worker-1.ns.svc.cluster.local:2222"]},'
        '"task":{"type":"worker","index":1},"environment":"cloud"}'
    )


@pytest.mark.parametrize(
    "roles", [{"Worker": 1}, {"Chief": 1}, {"Worker": 1, "PS": 0}, {"Chief": 1, "Worker": 0}]
)
def test_a_job_of_one_needs_no_cluster(roles: dict[str, Any]) -> None:
    """§2.1: not set when the sum of replicas is 1."""
    assert list(environments(**roles).values()) == [{}]


def test_a_job_of_one_needs_none_in_the_sparse_form_either() -> None:
    assert environments(Worker=1, spec={"enableDynamicWorker": True}) == {"mnist-worker-0": {}}


# --- enableDynamicWorker: §2.3 --------------------------------------------------------------------------------


def sparse(**words: Any) -> dict[str, str]:
    found = environments(spec={"enableDynamicWorker": True}, **words)
    return {name: env["TF_CONFIG"] for name, env in found.items()}


def test_a_dynamic_worker_knows_itself_and_all_parameter_servers() -> None:
    assert sparse(PS=2, Worker=2) == {
        "mnist-ps-0": '{"cluster":{"worker":{},"ps":["mnist-ps-0.ns.svc:2222"]},"task":{"type":"ps","index":0}}',
        "mnist-ps-1": '{"cluster":{"worker":{},"ps":["mnist-ps-1.ns.svc:2222"]},"task":{"type":"ps","index":1}}',
        "mnist-worker-0": '{"cluster":{"worker":{"0":"mnist-worker-0.ns.svc:2222"},'
        '"ps":["mnist-ps-0.ns.svc:2222","mnist-ps-1.ns.svc:2222"]},"task":{"type":"worker","index":0}}',
        "mnist-worker-1": '{"cluster":{"worker":{"1":"mnist-worker-1.ns.svc:2222"},'
        '"ps":["mnist-ps-0.ns.svc:2222","mnist-ps-1.ns.svc:2222"]},"task":{"type":"worker","index":1}}',
    }


@pytest.mark.parametrize(("ps", "value"), [({}, "null"), ({"PS": 0}, "[]")])
def test_a_dynamic_worker_without_parameter_servers(ps: dict[str, int], value: str) -> None:
    """`"ps":null` without the role; the role without members is an empty list, as in §2.2."""
    assert sparse(Worker=2, **ps)["mnist-worker-0"] == (
        '{"cluster":{"worker":{"0":"mnist-worker-0.ns.svc:2222"},"ps":' + value + "},"
        '"task":{"type":"worker","index":0}}'
    )


@pytest.mark.parametrize("role", ["Chief", "Master", "Evaluator"])
def test_with_dynamic_workers_the_others_know_nobody(role: str) -> None:
    found = sparse(**{role: 1, "PS": 1, "Worker": 1})[f"mnist-{role.lower()}-0"]
    assert found == f'{{"cluster":{{"worker":{{}},"ps":[]}},"task":{{"type":"{role.lower()}","index":0}}}}'


# --- who decides: §5.8, DECISIONS "terminal state" ----------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        # With a chief or master the workers do not matter for success.
        ({"Chief": "R", "Worker": "RR"}, Undecided()),
        ({"Chief": "S", "Worker": "RR"}, Succeeded()),
        ({"Master": "S", "Worker": "RR"}, Succeeded()),
        ({"Chief": "R", "Worker": "SS"}, Undecided()),
        ({"Chief": "SR", "Worker": "S"}, Undecided()),
        ({"Chief": "SS", "PS": "R"}, Succeeded()),
        # Without one: worker 0.
        ({"Worker": "SRR"}, Succeeded()),
        ({"Worker": "RSS"}, Undecided()),
        ({"Worker": "SSS"}, Succeeded()),
        ({"Worker": ".RR"}, Undecided()),
        ({"Worker": "TRR"}, Undecided()),
        # PS and evaluator never matter for success, and always for failure.
        ({"Worker": "R", "PS": "SS", "Evaluator": "S"}, Undecided()),
        ({"Worker": "S", "PS": "R", "Evaluator": "R"}, Succeeded()),
        ({"Worker": "R", "PS": "RF"}, Failed("PS", 1)),
        ({"Worker": "R", "Evaluator": "F"}, Failed("Evaluator", 1)),
        # Any member that has failed for good fails the job; one to be tried again does not.
        ({"Worker": "RF"}, Failed("Worker", 1)),
        ({"Worker": "RFF"}, Failed("Worker", 2)),
        ({"Chief": "R", "Worker": "RF"}, Failed("Worker", 1)),
        ({"Chief": "F", "Worker": "RF"}, Failed("Chief", 1)),
        ({"Chief": "T", "Worker": "RT"}, Undecided()),
        # DECISIONS: success of the deciding role first, then failure.
        ({"Chief": "S", "Worker": "F"}, Succeeded()),
        ({"Worker": "SF"}, Succeeded()),
        ({"Chief": "SR", "Worker": "F"}, Failed("Worker", 1)),
    ],
)
def test_the_chief_decides_without_one_worker_0(roles: dict[str, Any], expected: Verdict) -> None:
    assert verdict(TF, **roles) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"Worker": "SRR"}, Undecided()),
        ({"Worker": "SS"}, Succeeded()),
        ({"Worker": "SF"}, Failed("Worker", 1)),
        ({"Worker": "SS", "PS": "R"}, Succeeded()),
        ({"Chief": "S", "Worker": "RR"}, Succeeded()),
    ],
)
def test_all_workers_decide_where_the_success_policy_says_so(
    roles: dict[str, Any], expected: Verdict
) -> None:
    """§5.8: the policy counts only without a chief."""
    assert verdict(TF, spec={"successPolicy": "AllWorkers"}, **roles) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"Worker": "RF"}, Undecided()),
        ({"Worker": "FR"}, Undecided()),
        ({"Worker": "SF"}, Succeeded()),
        ({"Chief": "R", "Worker": "FF"}, Undecided()),
        ({"Chief": "R", "Worker": "FF", "PS": "F"}, Failed("PS", 1)),
        ({"Chief": "F", "Worker": "RR"}, Failed("Chief", 1)),
        # T27: nobody is left who could decide; the job does not hang.
        ({"Worker": "FF"}, Failed("Worker", 2)),
        ({"Worker": "FS"}, Failed("Worker", 1)),
        ({"Worker": "FT"}, Undecided()),
    ],
)
def test_dynamic_workers_may_fail_alone(roles: dict[str, Any], expected: Verdict) -> None:
    """§5.8: failed workers are ignored with enableDynamicWorker."""
    assert verdict(TF, spec={"enableDynamicWorker": True}, **roles) == expected


# --- what is refused: §8.1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("roles", [("Chief", "Master"), ("chief", "Master"), ("CHIEF", "master")])
def test_chief_and_master_exclude_each_other_in_any_letter_case(roles: tuple[str, str]) -> None:
    """kubeflow-v1 T21: `chief` + `Master` passed."""
    job = a_job(TF, **dict.fromkeys(roles, 1), Worker=1)
    assert [problem.path for problem in job.problems] == ["spec.tfReplicaSpecs"]
    assert "Chief and Master" in job.problems[0].message
