"""Where XGBoost's and LightGBM's members find each other, as the v1 operator tells it, and who decides."""

from functools import partial
from typing import Any

import pytest

from tests import builders
from tests.builders import XGB, a_job, a_template, verdict
from trainop.api.spec import RestartPolicy
from trainop.model import Failed, Succeeded, Undecided, Verdict

environments = partial(builders.environments, XGB)


def on_port(port: int) -> Any:
    return {"template": a_template("xgboost", ports=[{"name": "xgboostjob-port", "containerPort": port}])}


def test_the_whole_environment_of_a_worker_in_order() -> None:
    assert list(environments(Master=1, Worker=2)["mnist-worker-1"].items()) == [
        ("MASTER_PORT", "9999"),
        ("MASTER_ADDR", "mnist-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", "2"),
        ("PYTHONUNBUFFERED", "1"),
        ("WORKER_PORT", "9999"),
        ("WORKER_ADDRS", "mnist-worker-0,mnist-worker-1"),
    ]


@pytest.mark.parametrize("roles", [{"Master": 1}, {"Master": 1, "Worker": 0}])
def test_a_master_that_is_alone_hears_of_no_workers(roles: dict[str, Any]) -> None:
    assert environments(**roles) == {
        "mnist-master-0": {
            "MASTER_PORT": "9999",
            "MASTER_ADDR": "mnist-master-0",
            "WORLD_SIZE": "1",
            "RANK": "0",
            "PYTHONUNBUFFERED": "1",
        }
    }


def test_each_role_has_its_own_port() -> None:
    found = environments(Master=on_port(7000), Worker=on_port(7001))["mnist-master-0"]
    assert (found["MASTER_PORT"], found["WORKER_PORT"]) == ("7000", "7001")


def test_members_are_not_restarted_unless_the_job_says_so() -> None:
    assert a_job(XGB, Master=1).replicas["Master"].restart_policy is RestartPolicy.NEVER


@pytest.mark.parametrize(
    ("roles", "path"),
    [
        ({"Worker": 2}, "spec.xgbReplicaSpecs"),
        ({"Master": 0, "Worker": 2}, "spec.xgbReplicaSpecs"),
        ({"Master": 2}, "spec.xgbReplicaSpecs.Master.replicas"),
    ],
)
def test_there_is_exactly_one_master(roles: dict[str, int], path: str) -> None:
    assert [problem.path for problem in a_job(XGB, **roles).problems] == [path]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"Master": "S", "Worker": "RR"}, Succeeded()),
        ({"Master": "S", "Worker": "RF"}, Succeeded()),
        ({"Master": "R", "Worker": "SS"}, Undecided()),
        ({"Master": "F", "Worker": "RR"}, Failed("Master", 1)),
        ({"Master": "R", "Worker": "RF"}, Failed("Worker", 1)),
        ({"Master": "R", "Worker": "RT"}, Undecided()),
    ],
)
def test_the_master_decides(roles: dict[str, Any], expected: Verdict) -> None:
    assert verdict(XGB, **roles) == expected
