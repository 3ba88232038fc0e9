"""What torch.distributed and torchrun are told, as the v1 operator tells it, and who decides."""

from functools import partial
from typing import Any

import pytest

from tests import builders
from tests.builders import PT, Raw, a_job, a_template, verdict
from trainop.api.spec import RestartPolicy
from trainop.engine import labels, pods
from trainop.engine.topology import topology
from trainop.model import Env, Failed, Succeeded, Undecided, Verdict

environments = partial(builders.environments, PT)


def elastic(policy: Raw, spec: Raw | None = None, **words: Any) -> Env:
    """What worker 0 is told."""
    return environments(spec={"elasticPolicy": policy} | (spec or {}), **words or {"Worker": 3})[
        "mnist-worker-0"
    ]


# --- the environment ----------------------------------------------------------------------------------------


def test_the_whole_environment_of_a_worker_in_order() -> None:
    assert list(environments(Master=1, Worker=2)["mnist-worker-1"].items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("MASTER_PORT", "23456"),
        ("PET_MASTER_PORT", "23456"),
        ("MASTER_ADDR", "mnist-master-0"),
        ("PET_MASTER_ADDR", "mnist-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", "2"),
        ("PET_NODE_RANK", "2"),
        ("PET_NPROC_PER_NODE", "auto"),
        ("PET_NNODES", "3"),
    ]


def test_the_master_has_rank_0_and_the_workers_the_next_ones() -> None:
    found = environments(Master=1, Worker=2)
    assert [env["RANK"] for env in found.values()] == ["0", "1", "2"]
    assert [env["PET_NODE_RANK"] for env in found.values()] == ["0", "1", "2"]


def test_the_port_is_that_of_the_masters_template() -> None:
    template = a_template("pytorch", ports=[{"name": "pytorchjob-port", "containerPort": 7000}])
    found = environments(Master={"template": template}, Worker=1)["mnist-worker-0"]
    assert (found["MASTER_PORT"], found["PET_MASTER_PORT"]) == ("7000", "7000")


def test_without_a_master_there_is_nothing_for_torch_distributed() -> None:
    assert environments(Worker=2)["mnist-worker-1"] == {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "2",
    }


@pytest.mark.parametrize(("given", "size"), [("4", "12"), ("auto", "3"), ("gpu", "3")])
def test_the_world_is_as_large_as_all_processes_if_their_number_is_known(given: str, size: str) -> None:
    found = environments(spec={"nprocPerNode": given}, Master=1, Worker=2)["mnist-master-0"]
    assert (found["PET_NPROC_PER_NODE"], found["WORLD_SIZE"], found["PET_NNODES"]) == (given, size, "3")


def test_every_container_is_told() -> None:
    job = a_job(PT, Master={"template": a_template("pytorch", sidecar="log")})
    (member,) = members = topology(PT, job)
    made = pods.manifest(PT, job, member, PT.bootstrap(job, members)(member))
    told = [{entry["name"] for entry in container["env"]} for container in made["spec"]["containers"]]
    assert told == [told[0], told[0]]
    assert "RANK" in told[0]
    assert made["spec"].get("initContainers") is None


# --- elasticPolicy ------------------------------------------------------------------------------------------


def test_elastic_workers_meet_at_the_first() -> None:
    assert list(elastic({}).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("PET_NPROC_PER_NODE", "auto"),
        ("PET_RDZV_ENDPOINT", "mnist-worker-0:23456"),
        ("PET_RDZV_BACKEND", "c10d"),
        ("PET_NNODES", "3:3"),
    ]


def test_a_whole_elastic_policy() -> None:
    policy = {
        "rdzvBackend": "etcd-v2",
        "rdzvHost": "etcd",
        "rdzvPort": 2379,
        "rdzvId": "mine",
        "rdzvConf": [{"key": "timeout", "value": "900"}, {"key": "is_host", "value": "0"}],
        "standalone": True,
        "nProcPerNode": 2,
        "maxRestarts": 0,
        "minReplicas": 1,
        "maxReplicas": 5,
    }
    assert elastic(policy) == {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": "2",
        "PET_RDZV_ENDPOINT": "etcd:2379",
        "PET_RDZV_BACKEND": "etcd-v2",
        "PET_NNODES": "1:5",
        "PET_MAX_RESTARTS": "0",
        "PET_RDZV_ID": "mine",
        "PET_RDZV_CONF": "timeout=900,is_host=0",
        "PET_STANDALONE": "1",
    }


@pytest.mark.parametrize(
    ("policy", "nodes"), [({"minReplicas": 2}, "2:2"), ({"maxReplicas": 4}, "4:4"), ({}, "3:3")]
)
def test_of_fewest_and_most_one_is_enough(policy: Raw, nodes: str) -> None:
    assert elastic(policy)["PET_NNODES"] == nodes


def test_the_older_place_of_the_number_of_processes_is_read_and_the_newer_wins() -> None:
    assert elastic({"nProcPerNode": 2})["PET_NPROC_PER_NODE"] == "2"
    assert elastic({"nProcPerNode": 2}, {"nprocPerNode": "4"})["PET_NPROC_PER_NODE"] == "4"


def test_an_elastic_master_that_is_alone_meets_itself() -> None:
    found = environments(spec={"elasticPolicy": {"standalone": True}}, Master=1)["mnist-master-0"]
    assert (found["PET_RDZV_ENDPOINT"], found["PET_NNODES"]) == ("mnist-master-0:23456", "1:1")


# --- the spec -----------------------------------------------------------------------------------------------


def test_members_are_restarted_on_failure_unless_the_job_says_otherwise() -> None:
    job = a_job(PT, Master={"restartPolicy": "Never"}, Worker=1)
    assert [replica.restart_policy for replica in job.replicas.values()] == [
        RestartPolicy.NEVER,
        RestartPolicy.ON_FAILURE,
    ]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"Master": 2}, "spec.pytorchReplicaSpecs.Master.replicas"),
        ({"Worker": 0}, "spec.pytorchReplicaSpecs"),
        ({"Master": 1, "spec": {"elasticPolicy": {"metrics": [{}]}}}, "spec.elasticPolicy.metrics"),
        ({"Master": 1, "spec": {"elasticPolicy": {"minReplicas": 0}}}, "spec.elasticPolicy.minReplicas"),
        ({"Master": 1, "spec": {"nprocPerNode": 2}}, "spec.nprocPerNode"),
        ({"Master": 1, "spec": {"nprocPerNode": "9" * 5000}}, "spec.nprocPerNode"),
    ],
)
def test_what_cannot_be_done_is_refused(words: Any, path: str) -> None:
    assert [problem.path for problem in a_job(PT, **words).problems] == [path]


@pytest.mark.parametrize(
    ("roles", "leader"), [({"Master": 1, "Worker": 2}, "master"), ({"Worker": 2}, "worker")]
)
def test_the_master_leads_without_one_worker_0(roles: dict[str, int], leader: str) -> None:
    job = a_job(PT, **roles)
    made = {m.name: pods.manifest(PT, job, m, {})["metadata"]["labels"] for m in topology(PT, job)}
    assert [name for name, told in made.items() if labels.JOB_ROLE in told] == [f"mnist-{leader}-0"]


# --- who decides --------------------------------------------------------------------------------------------

ELASTIC = {"elasticPolicy": {"minReplicas": 1}}


@pytest.mark.parametrize(
    ("spec", "roles", "expected"),
    [
        # The master's success is enough, and nobody else's.
        ({}, {"Master": "S", "Worker": "RR"}, Succeeded()),
        ({}, {"Master": "R", "Worker": "SS"}, Undecided()),
        (ELASTIC, {"Master": "R", "Worker": "SS"}, Undecided()),
        ({}, {"Master": "S", "Worker": "RF"}, Succeeded()),
        # Without one: all workers, or any that ends well where they may come and go.
        ({}, {"Worker": "SR"}, Undecided()),
        ({}, {"Worker": "SS"}, Succeeded()),
        (ELASTIC, {"Worker": "RR"}, Undecided()),
        (ELASTIC, {"Worker": "RS"}, Succeeded()),
        (ELASTIC, {"Worker": "FS"}, Succeeded()),
        # Whoever fails for good fails the job; who is tried again does not.
        ({}, {"Master": "F", "Worker": "RR"}, Failed("Master", 1)),
        ({}, {"Master": "R", "Worker": "FF"}, Failed("Worker", 2)),
        (ELASTIC, {"Worker": "RF"}, Failed("Worker", 1)),
        ({}, {"Master": "R", "Worker": "RT"}, Undecided()),
    ],
)
def test_the_master_decides_without_one_the_workers(
    spec: Raw, roles: dict[str, str], expected: Verdict
) -> None:
    assert verdict(PT, spec=spec, **roles) == expected
