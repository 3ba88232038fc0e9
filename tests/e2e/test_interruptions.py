"""Parts of the cluster that go away in the middle of a training and come back: the job ends as it should."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.chart.release import Release
from tests.e2e import processes, replicas
from tests.e2e.node import Node
from tests.e2e.user import Raw, User, job


@contextmanager
def under_way(user: User, name: str, *, restart: str = "Never") -> Iterator[None]:
    """What happens in the block happens to a job of two workers that run; afterwards the job succeeds."""
    user.apply(job(name, workers=2, restart=restart))
    workers = [f"{name}-worker-{index}" for index in range(2)]
    for worker in workers:
        user.until_runs(worker)
    yield
    for worker in workers:
        user.until_runs(worker)
    for worker in reversed(workers):
        user.order(worker, 0)
    user.until_is(name, "Succeeded", "Failed")
    assert user.state(name).split()[-1] == "Succeeded"


def uids(user: User) -> set[str]:
    return {pod["metadata"]["uid"] for pod in user.all("pods")}


def test_the_leading_replica_is_killed(user: User, release: Release) -> None:
    replicas.wait(release)
    with under_way(user, "led"):
        before = uids(user)
        leader = replicas.leader(release)
        replicas.kill(release, leader)
        user.until("another replica leads", lambda: replicas.leader(release) not in ("", leader))
        replicas.wait(release)
        assert uids(user) == before


def test_the_kubelet_is_restarted_and_a_worker_ends_meanwhile(user: User, our_node: Node) -> None:
    user.apply(job("alone", workers=2))
    for worker in ("alone-worker-0", "alone-worker-1"):
        user.until_runs(worker)
    before = uids(user)
    our_node.stop_kubelet()
    try:
        processes.order(our_node, "alone-worker-0", 0)
    finally:
        our_node.start_kubelet()
    user.until_is("alone", "Succeeded", "Failed")
    assert user.state("alone").split()[-1] == "Succeeded"
    assert uids(user) <= before


def test_containerd_is_restarted(user: User, our_node: Node) -> None:
    with under_way(user, "contained"):
        before = uids(user)
        our_node.kill_containerd()
        our_node.start_containerd()
        assert uids(user) == before


@pytest.mark.parametrize("restart", ["ExitCode", "OnFailure"])
def test_the_node_is_rebooted(user: User, our_node: Node, release: Release, restart: str) -> None:
    name = f"booted-{restart.lower()}"
    with under_way(user, name, restart=restart):
        before = [user.until_runs(f"{name}-worker-{index}") for index in range(2)]
        our_node.reboot()
        replicas.wait(release)
        if restart == "ExitCode":
            for index, uid in enumerate(before):
                user.until_runs(f"{name}-worker-{index}", but=uid)
        else:
            user.until("the workers run again", lambda: all(map(_restarted, user.all("pods"))))


def _restarted(pod: Raw) -> bool:
    containers = pod["status"].get("containerStatuses", [])
    return bool(containers) and all(container["restartCount"] > 0 for container in containers)
