"""MX_CONFIG and DMLC_* byte for byte, and who decides. kubeflow-v1 §3, T11; DECISIONS "MXJob success"."""

import json
from functools import partial
from typing import Any

import pytest

from tests import builders
from tests.builders import MX, Raw, a_template, verdict
from trainop.engine.topology import topology
from trainop.model import Failed, Succeeded, Undecided, Verdict
from trainop.parse import parse

TUNE = {"jobMode": "MXTune"}


environments = partial(builders.environments, MX)


def keyed(key: str) -> Raw:
    return {"template": a_template("mxnet", metadata={"annotations": {"tuner-server-key": key}})}


# --- the environment: §3 ------------------------------------------------------------------------------------


def test_the_whole_environment_of_a_worker_in_order() -> None:
    found = environments(Scheduler=1, Server=1, Worker=2)["mnist-worker-1"]
    assert list(found.items()) == [
        (
            "MX_CONFIG",
            '{"cluster":{"scheduler":[{"url":"mnist-scheduler-0","port":9091}],'
            '"server":[{"url":"mnist-server-0","port":9091}],'
            '"worker":[{"url":"mnist-worker-0","port":9091},{"url":"mnist-worker-1","port":9091}]},'
            '"labels":{"scheduler":"","server":"","worker":""},"task":{"type":"worker","index":1}}',
        ),
        ("DMLC_PS_ROOT_PORT", "9091"),
        ("DMLC_PS_ROOT_URI", "mnist-scheduler-0"),
        ("DMLC_NUM_SERVER", "1"),
        ("DMLC_NUM_WORKER", "2"),
        ("DMLC_ROLE", "worker"),
        ("DMLC_USE_KUBERNETES", "1"),
        ("DMLC_WORKER_ID", "1"),
    ]


@pytest.mark.parametrize("role", ["scheduler", "server"])
def test_only_workers_have_a_worker_id(role: str) -> None:
    found = environments(Scheduler=1, Server=1, Worker=1)[f"mnist-{role}-0"]
    assert list(found)[1:] == [
        "DMLC_PS_ROOT_PORT",
        "DMLC_PS_ROOT_URI",
        "DMLC_NUM_SERVER",
        "DMLC_NUM_WORKER",
        "DMLC_ROLE",
        "DMLC_USE_KUBERNETES",
    ]
    assert found["DMLC_ROLE"] == role
    assert found["MX_CONFIG"].endswith(f'"task":{{"type":"{role}","index":0}}}}')


def test_a_job_of_one_worker_gets_it_all_with_no_scheduler() -> None:
    """Always set; port `0` and an empty host without a scheduler."""
    assert environments(Worker=1)["mnist-worker-0"] == {
        "MX_CONFIG": '{"cluster":{"worker":[{"url":"mnist-worker-0","port":9091}]},'
        '"labels":{"worker":""},"task":{"type":"worker","index":0}}',
        "DMLC_PS_ROOT_PORT": "0",
        "DMLC_PS_ROOT_URI": "",
        "DMLC_NUM_SERVER": "0",
        "DMLC_NUM_WORKER": "1",
        "DMLC_ROLE": "worker",
        "DMLC_USE_KUBERNETES": "1",
        "DMLC_WORKER_ID": "0",
    }


def test_each_role_has_its_own_port_and_the_root_is_the_schedulers() -> None:
    template = a_template("mxnet", ports=[{"name": "mxjob-port", "containerPort": 7000}])
    found = environments(Scheduler={"template": template}, Worker=1)["mnist-worker-0"]
    assert found["DMLC_PS_ROOT_PORT"] == "7000"
    assert found["MX_CONFIG"].startswith(
        '{"cluster":{"scheduler":[{"url":"mnist-scheduler-0","port":7000}],'
        '"worker":[{"url":"mnist-worker-0","port":9091}]},'
    )


def test_the_cluster_domain_changes_nothing() -> None:
    words: Any = {"Scheduler": 1, "Server": 1, "Worker": 1}
    assert environments(cluster_domain="cluster.local", **words) == environments(**words)


def test_a_role_without_replicas_is_an_empty_list() -> None:
    found = environments(Scheduler=1, Server=0, Worker=1)["mnist-worker-0"]
    assert found["MX_CONFIG"].startswith(
        '{"cluster":{"scheduler":[{"url":"mnist-scheduler-0","port":9091}],"server":[],'
    )
    assert found["DMLC_NUM_SERVER"] == "0"


def test_a_tuning_run_finds_the_servers_by_their_key() -> None:
    """§3: `labels[type]` is the annotation `tuner-server-key` of the role's pod template."""
    found = environments(TunerTracker=1, TunerServer=keyed("2080ti") | {"replicas": 2}, Tuner=1, spec=TUNE)
    assert found["mnist-tuner-0"]["MX_CONFIG"] == (
        '{"cluster":{"tuner":[{"url":"mnist-tuner-0","port":9091}],'
        '"tunerserver":[{"url":"mnist-tunerserver-0","port":9091},{"url":"mnist-tunerserver-1","port":9091}],'
        '"tunertracker":[{"url":"mnist-tunertracker-0","port":9091}]},'
        '"labels":{"tuner":"","tunerserver":"2080ti","tunertracker":""},"task":{"type":"tuner","index":0}}'
    )
    assert {env["DMLC_ROLE"] for env in found.values()} == {"tunertracker", "tunerserver", "tuner"}
    assert {env["DMLC_NUM_WORKER"] for env in found.values()} == {"0"}


# --- who decides: DECISIONS "MXJob success" -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        # The scheduler exits 0.
        ({"Scheduler": "S", "Server": "R", "Worker": "RR"}, Succeeded()),
        ({"Scheduler": "R", "Server": "S", "Worker": "SS"}, Undecided()),
        # Without a scheduler: all workers succeed.
        ({"Worker": "S"}, Succeeded()),
        ({"Worker": "SR"}, Undecided()),
        ({"Server": "R", "Worker": "SS"}, Succeeded()),
        # Never while a worker has failed for good: then Failed.
        ({"Scheduler": "S", "Worker": "SF"}, Failed("Worker", 1)),
        ({"Scheduler": "S", "Worker": "FF"}, Failed("Worker", 2)),
        ({"Worker": "SF"}, Failed("Worker", 1)),
        # A retryable exit code restarts, also beside a success.
        ({"Scheduler": "R", "Worker": "RT"}, Undecided()),
        ({"Scheduler": "T", "Worker": "RR"}, Undecided()),
        ({"Scheduler": "S", "Worker": "ST"}, Succeeded()),
        # A permanent exit code fails the job.
        ({"Scheduler": "F", "Worker": "RR"}, Failed("Scheduler", 1)),
        ({"Scheduler": "R", "Server": "RF", "Worker": "R"}, Failed("Server", 1)),
        # Success of the deciding role first, then failure of the others.
        ({"Scheduler": "S", "Server": "F", "Worker": "R"}, Succeeded()),
    ],
)
def test_the_scheduler_decides_without_one_all_workers(roles: dict[str, Any], expected: Verdict) -> None:
    assert verdict(MX, **roles) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"TunerTracker": "R", "TunerServer": "RR", "Tuner": "S"}, Succeeded()),
        ({"TunerTracker": "S", "TunerServer": "SS", "Tuner": "R"}, Undecided()),
        ({"TunerTracker": "R", "TunerServer": "RR", "Tuner": "F"}, Failed("Tuner", 1)),
        ({"TunerTracker": "R", "TunerServer": "FR", "Tuner": "R"}, Failed("TunerServer", 1)),
        # Whatever other roles are there.
        ({"Scheduler": "R", "Worker": "RR", "Tuner": "S"}, Succeeded()),
        ({"Scheduler": "S", "Worker": "SS", "Tuner": "R"}, Undecided()),
        ({"Scheduler": "R", "Worker": "RF", "Tuner": "S"}, Succeeded()),
        ({"Scheduler": "R", "Worker": "RF", "Tuner": "R"}, Failed("Worker", 1)),
        # Without a tuner as in training.
        ({"Scheduler": "S", "Worker": "RR"}, Succeeded()),
        ({"Scheduler": "S", "Worker": "RF"}, Failed("Worker", 1)),
    ],
)
def test_in_tune_mode_the_tuner_decides(roles: dict[str, Any], expected: Verdict) -> None:
    """kubeflow-v1 T11: such jobs never ended."""
    assert verdict(MX, spec=TUNE, **roles) == expected


def test_in_training_a_tuner_decides_only_when_nobody_else_does() -> None:
    assert verdict(MX, Scheduler="R", Tuner="S") == Undecided()
    assert verdict(MX, Worker="S", Tuner="R") == Succeeded()
    assert verdict(MX, TunerServer="R", Tuner="S") == Succeeded()


def test_the_old_label_of_a_role_is_its_tuner_key_unless_the_annotation_says_otherwise() -> None:
    """kubeflow-v1.md 1.2: v1beta1 had a `label` per replica, the v1 example still writes it."""
    template = {"spec": {"containers": [{"name": "mxnet", "image": "example/tune"}]}}
    annotated = template | {"metadata": {"annotations": {"tuner-server-key": "v100"}}}
    roles = {
        "Tuner": {"template": template},
        "TunerServer": {"template": template, "label": "2080ti"},
        "TunerTracker": {"template": annotated, "label": "2080ti"},
    }
    raw = {"metadata": {"name": "tune"}, "spec": {"jobMode": "MXTune", "mxReplicaSpecs": roles}}
    job = parse(MX, raw, strict=True)
    assert job.problems == ()
    members = topology(MX, job)
    config = json.loads(MX.bootstrap(job, members)(next(iter(members)))["MX_CONFIG"])
    assert config["labels"] == {"tuner": "", "tunerserver": "2080ti", "tunertracker": "v100"}
