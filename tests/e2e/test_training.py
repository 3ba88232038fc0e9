"""The examples train: members find each other by name, and the job ends when the training does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cluster.controlplane import Cluster
from tests.e2e import jobs, tensorboard
from tests.e2e.jobs import Job, Raw
from tests.e2e.node import Node
from tools.environments import MXNET, ROOT, TENSORFLOW, Example

pytestmark = pytest.mark.usefixtures("release")


def learned(job: Job, pod: str) -> bool:
    """Something: how much depends on how long it trained."""
    losses = job.losses(pod)
    return bool(losses) and losses[-1] < 0.9 * losses[0]


def restarts(job: Job) -> int:
    """Of the containers that are still there."""
    return sum(
        status["restartCount"] for pod in job.pods().values() for status in pod["status"]["containerStatuses"]
    )


def check_tensorflow(job: Job) -> None:
    """It has succeeded, every member took part, and of those that never end by themselves none is left."""
    assert job.end() == "Succeeded", job.story()
    jobs.until("those who never end by themselves are gone", lambda: not serving(job))
    chief = f"{job.name}-chief-0"
    assert job.pods()[chief]["status"]["phase"] == "Succeeded"
    assert job.joined(chief) == "joined: chief 0, ps 0, worker 0, worker 1"
    assert learned(job, chief)


def serving(job: Job) -> list[str]:
    return [name for name in job.pods() if re.search(r"-(ps|worker)-\d+$", name)]


def check_mxnet(job: Job) -> None:
    """Every member takes part, it succeeds, and who has ended by then is left."""
    workers = [f"{job.name}-worker-{index}" for index in (0, 1)]
    # Asked before the end: a worker that is slow to end is removed with its log.
    jobs.until("both workers learn", lambda: all(learned(job, worker) for worker in workers))
    assert {job.joined(worker) for worker in workers} == {"joined: worker 0 of 2", "joined: worker 1 of 2"}
    assert job.end() == "Succeeded", job.story()
    jobs.until("nobody is at work any more", lambda: phases(job) == {"Succeeded"})
    assert f"{job.name}-scheduler-0" in job.pods()


def phases(job: Job) -> set[str]:
    return {pod["status"]["phase"] for pod in job.pods().values()}


def test_what_the_readme_shows_is_what_happens_and_both_jobs_train_to_the_end(
    cluster: Cluster, namespace: str
) -> None:
    [(apply, created), (get, running)] = shown()
    files = [word for word in apply if word.endswith(".yaml")]
    assert files == [TENSORFLOW.file, MXNET.file]
    words = [str(ROOT / word) if word in files else word for word in apply]
    assert cluster.run(*words, "-n", namespace) == created

    def so() -> bool:
        return without_ages(cluster.run(*get, "-n", namespace)) == without_ages(running)

    jobs.until("the jobs run as the README shows", so)
    tensorflow, mxnet = (jobs.at(cluster, namespace, jobs.read(file)) for file in files)
    check_mxnet(mxnet)
    check_tensorflow(tensorflow)


def shown() -> list[tuple[list[str], str]]:
    """The commands of kubectl in the README that apply the examples, and what they print."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (block,) = (block for block in blocks if "examples/" in block)
    commands = re.findall(r"^\$ kubectl (.*)\n((?:(?!\$).*\n)*)", block, re.MULTILINE)
    return [(words.split(), printed) for words, printed in commands]


def without_ages(table: str) -> str:
    return re.sub(r" +[0-9a-z]+s$", "", table.strip(), flags=re.MULTILINE)


def test_an_evaluator_and_a_tensorboard_see_what_a_training_without_rights_saves(
    cluster: Cluster, restricted: str, claim: str
) -> None:
    written = held_back(jobs.read("examples/tensorflow/tfjob_evaluator.yaml"), "Worker")
    job = jobs.start(cluster, restricted, written)
    evaluator = f"{job.name}-evaluator-0"
    # Otherwise a short training may be over, and the evaluator removed, before it has looked once.
    jobs.until("the evaluator looks", lambda: "waits for checkpoints" in job.log(evaluator))
    let_in(job)
    jobs.until("the evaluator has tried something", lambda: "after step" in job.log(evaluator))
    check_tensorflow(job)
    shown = tensorboard.losses(cluster, restricted, f"{job.name}-tensorboard", steps=range(30, 301, 30))
    assert shown == pytest.approx(job.losses(f"{job.name}-chief-0"), abs=1e-4)


# Who comes late in each job, and who asks for nobody else meanwhile.
LATE = [
    pytest.param(TENSORFLOW, ("PS", "Worker"), ("chief-0",), {"STEPS": "300"}, id="TensorFlow"),
    pytest.param(MXNET, ("Scheduler",), ("server-0", "worker-0", "worker-1"), {"EPOCHS": "5"}, id="MXNet"),
]


@pytest.fixture
def caching(our_node: Node) -> Iterator[None]:
    """A DNS as most clusters have it: it remembers that a name was not there."""
    our_node.set_dns_cache(on=True)
    yield
    our_node.set_dns_cache(on=False)


@pytest.mark.usefixtures("caching")
@pytest.mark.parametrize(("example", "late", "early", "variables"), LATE)
def test_members_that_ask_for_a_peer_before_it_has_a_name_find_it_later(
    cluster: Cluster,
    namespace: str,
    example: Example,
    late: tuple[str, ...],
    early: tuple[str, ...],
    variables: dict[str, str],
) -> None:
    written = held_back(jobs.with_env(jobs.read(example.file), **variables), *late)
    job = jobs.start(cluster, namespace, written)
    first = [f"{job.name}-{member}" for member in early]
    jobs.until("the others are asked for", lambda: all(asked(job, pod) for pod in first))
    let_in(job)
    (check_mxnet if example is MXNET else check_tensorflow)(job)
    assert restarts(job) == 0


def held_back(job: Raw, *roles: str) -> Raw:
    """The same, where no node takes the members of these roles until `let_in`."""
    changed = jobs.with_env(job)
    field = next(field for field in changed["spec"] if field.endswith("ReplicaSpecs"))
    for role in roles:
        changed["spec"][field][role]["template"]["spec"]["schedulingGates"] = [{"name": "trainop.test/late"}]
    return changed


def let_in(job: Job) -> None:
    patch = '[{"op": "remove", "path": "/spec/schedulingGates"}]'
    for name, pod in job.pods().items():
        if pod["spec"].get("schedulingGates"):
            job.cluster.run("patch", "-n", job.namespace, "pod", name, "--type=json", "-p", patch)


def asked(job: Job, pod: str) -> bool:
    """Whether anybody there has sent a datagram; nothing but questions to the DNS is sent so."""
    if job.pods().get(pod, {"status": {}})["status"].get("phase") != "Running":
        return False
    counted = job.cluster.run("exec", "-n", job.namespace, pod, "--", "cat", "/proc/net/snmp")
    names, numbers = (line.split() for line in counted.splitlines() if line.startswith("Udp:"))
    return int(numbers[names.index("OutDatagrams")]) > 0
