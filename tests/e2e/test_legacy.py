"""Jobs of 2017 train on the node of today, with the images of today in the place of theirs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from tests.e2e import jobs, tensorboard
from tests.e2e.jobs import Job, Raw
from tools.environments import MXNET, TENSORFLOW

pytestmark = pytest.mark.usefixtures("release")
IMAGES = {"tensorflow": TENSORFLOW.image, "mxnet": MXNET.image}


def here(file: str, **variables: str) -> Raw:
    """A job of examples/legacy with an image that there is, and a training of a few steps."""
    one_thread = {"OMP_NUM_THREADS": "1"}  # many members on few cores get in each other's way
    job = jobs.with_env(jobs.read(f"examples/legacy/{file}"), **one_thread, **variables)
    for template in jobs.templates(job):
        for container in template["spec"]["containers"]:
            container["image"] = IMAGES[container["name"]]
    if job["kind"] == "TfJob":
        job["spec"]["tfImage"] = TENSORFLOW.image  # of what has no template
    return job


def pods(job: Job, type_: str) -> list[str]:
    """Of one type of replica, as the labels of 2017 tell."""
    found = job.pods().items()
    return sorted(name for name, pod in found if pod["metadata"]["labels"].get("job_type") == type_)


def check_end(job: Job) -> None:
    assert job.end() == "Succeeded", job.story()
    status = job.get()["status"]
    assert (status["phase"], status["state"]) == ("Done", "Succeeded")


@pytest.mark.parametrize("file", ["tf_job.yaml", "mlkube_tf_job.yaml"])
def test_a_tfjob_trains_with_the_default_parameter_servers(
    cluster: Cluster, namespace: str, file: str
) -> None:
    job = jobs.start(cluster, namespace, here(file, STEPS="90"))
    check_end(job)
    (master,) = pods(job, "MASTER")
    assert job.joined(master) == "joined: chief 0, ps 0, ps 1, worker 0"
    assert len(job.losses(master)) == 3
    assert len(pods(job, "PS")) == 2, "all pods of a job of 2017 stay"


def test_a_replica_without_a_type_trains_alone(cluster: Cluster, namespace: str) -> None:
    job = jobs.start(cluster, namespace, here("tfjob_cpu.yaml", STEPS="90"))
    check_end(job)
    (master,) = pods(job, "MASTER")
    assert len(job.losses(master)) == 3


def test_the_tensorboard_of_a_tfjob_shows_the_losses_of_its_master(
    cluster: Cluster, namespace: str, claim: str
) -> None:
    written = here("tfjob_tensorboard.yaml", STEPS="90", MODEL_DIR="/app/tf_files/training_summaries")
    share: dict[str, Any] = {"name": "azurefile", "persistentVolumeClaim": {"claimName": claim}}
    written["spec"]["tensorboard"]["volumes"] = [share]
    (template,) = jobs.templates(written)
    template["spec"]["volumes"] = [share]
    job = jobs.start(cluster, namespace, written)
    check_end(job)
    (master,) = pods(job, "MASTER")
    board = f"tensorboard-{job.get()['spec'].get('RuntimeId') or master.split('-')[1]}"
    shown = tensorboard.losses(cluster, namespace, board, steps=(30, 60, 90))
    assert shown == pytest.approx(job.losses(master), abs=1e-4)


@pytest.mark.parametrize("file", ["mx_job_dist.yaml", "mxnet_mlkube_mx_job_dist.yaml"])
def test_an_mxjob_trains_with_two_servers_and_three_workers(
    cluster: Cluster, namespace: str, file: str
) -> None:
    job = jobs.start(cluster, namespace, here(file, EPOCHS="2"))
    check_end(job)
    joined = {job.joined(worker) for worker in pods(job, "WORKER")}
    assert joined == {f"joined: worker {rank} of 3" for rank in range(3)}


def test_a_local_mxjob_trains_alone(cluster: Cluster, namespace: str) -> None:
    job = jobs.start(cluster, namespace, here("mx_job_local.yaml", EPOCHS="3"))
    check_end(job)
    (worker,) = pods(job, "WORKER")
    assert job.joined(worker) == "joined: worker 0 of 1"
    assert len(job.losses(worker)) == 3
