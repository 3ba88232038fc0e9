"""`trainop logs` on a real API server that asks a node for them."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.cluster.controlplane import Cluster
from tests.node import Node
from tests.scenarios.asking.person import Person, reader
from tests.scenarios.stage import PATIENCE, Stage
from trainop.cli.following import looks
from trainop.kube import facts
from trainop.kube.client import Client
from trainop.kube.credentials import load
from trainop.kube.find import Found
from trainop.kube.logs import Ask, Follower


async def bound(stage: Stage, crds: Cluster, node: Node) -> list[str]:
    """All members run on the node."""
    await stage.submit()
    await stage.run_all()
    for name in stage.children():
        node.bind(crds, stage.namespace, name)
    return stage.children()


async def test_all_members_are_interleaved_in_the_order_of_time(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    for word in ("one", "two"):
        for role in ("Worker", "Chief"):
            node.write(stage.namespace, stage.child(role), f"{role} {word}")
    result = await person.says("logs", stage.name)
    assert result.stdout.splitlines() == [
        "worker-0 | Worker one",
        "chief-0  | Chief one",
        "worker-0 | Worker two",
        "chief-0  | Chief two",
    ]
    lines = [
        json.loads(line)
        for line in (await person.says("logs", "tfjob/job", "-o", "json")).stdout.splitlines()
    ]
    assert lines[0].pop("time").startswith("20")
    assert lines[0] == {
        "job": "job",
        "kind": "TFJob",
        "namespace": stage.namespace,
        "role": "Worker",
        "index": 0,
        "attempt": 0,
        "message": "Worker one",
    }


async def test_role_index_tail_and_since_choose(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    for name in stage.children():
        node.write(stage.namespace, name, "long ago", ago=3_600)
        node.write(stage.namespace, name, "then", "now")
    both = await person.says("logs", stage.name, "--role", "worker", "--tail", "1")
    assert both.stdout.splitlines() == ["worker-0 | now", "worker-1 | now"]
    one = await person.says("logs", stage.name, "--role", "WORKER", "--index", "1", "--since", "10m")
    assert one.stdout.splitlines() == ["worker-1 | then", "worker-1 | now"]
    wrong = await person.says("logs", stage.name, "--role", "wroker", code=2)
    assert wrong.stderr == "trainop: TFJob has no role wroker; it has Chief, Master, PS, Worker, Evaluator\n"


async def test_previous_is_what_was_written_before_the_last_restart(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    chief = stage.child("Chief")
    nothing = await person.says("logs", stage.name, "--previous")
    assert nothing.stdout == ""
    assert nothing.stderr == f"TFJob {stage.namespace}/job: nothing has been written before\n"
    node.write(stage.namespace, chief, "KeyError")
    node.restart(stage.namespace, chief)
    node.write(stage.namespace, chief, "better now")
    await stage.kubelet.run(chief, restarts=1)
    before = await person.asks("logs", stage.name, "--previous")
    assert (before["attempt"], before["message"]) == (0, "KeyError")
    now = await person.asks("logs", stage.name)
    assert (now["attempt"], now["message"]) == (1, "better now")


async def test_a_node_that_does_not_answer_is_told_and_the_others_are_read(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await stage.submit()
    await stage.run_all()
    node.bind(crds, stage.namespace, stage.child("Chief"))
    node.write(stage.namespace, stage.child("Chief"), "here")
    lost = Node("gone-away")
    lost.bind(crds, stage.namespace, stage.child("PS"))
    result = await person.says("logs", stage.name, code=3)
    assert result.stdout == "chief-0  | here\n"
    assert result.stderr.startswith("trainop: the log of ps-0 cannot be read: ")
    assert len(result.stderr.splitlines()) == 1


async def test_following_goes_through_restarts_and_replacements_to_the_end_of_the_job(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    def attempt(line: str) -> tuple[str, int, str]:
        told = json.loads(line)
        return f"{told['role']} {told['index']}", told["attempt"], told["message"]

    await stage.submit(Chief={"restartPolicy": "OnFailure"}, Worker={"restartPolicy": "ExitCode"})
    await stage.run_all()
    chief, worker = stage.child("Chief"), stage.child("Worker")
    node.bind(crds, stage.namespace, chief)
    async with person.watching("logs", stage.name, "-f", "-o", "json") as logs:
        node.write(stage.namespace, chief, "begins")
        assert attempt(await logs.line()) == ("Chief 0", 0, "begins")
        # In place: what it wrote between two looks is not lost.
        node.write(stage.namespace, chief, "fails")
        node.restart(stage.namespace, chief)
        node.write(stage.namespace, chief, "again")
        await stage.kubelet.run(chief, restarts=1)
        assert attempt(await logs.line()) == ("Chief 0", 0, "fails")
        assert attempt(await logs.line()) == ("Chief 0", 1, "again")
        # A member that comes to a node only now, and is replaced there.
        node.bind(crds, stage.namespace, worker)
        node.write(stage.namespace, worker, "works")
        assert attempt(await logs.line()) == ("Worker 0", 0, "works")
        old = (await stage.pods())[worker]["metadata"]["uid"]
        node.end(stage.namespace, worker)
        await stage.kubelet.exit(worker, 137)
        await stage.until_replaced(worker, old)
        node.forget(stage.namespace, worker)
        await stage.kubelet.run(worker)
        node.bind(crds, stage.namespace, worker)
        node.write(stage.namespace, worker, "works anew")
        assert attempt(await logs.line()) == ("Worker 0", 1, "works anew")
        # The end of the job, and what is written to the last.
        node.write(stage.namespace, chief, "done")
        node.end(stage.namespace, chief)
        await stage.kubelet.exit(chief)
        await stage.until_state("Succeeded")
        node.write(stage.namespace, worker, "told to stop")
        node.end(stage.namespace, worker)
        await stage.until(lambda: is_going(stage, worker), "the worker is cleaned up")
        crds.run("delete", "pod", worker, "-n", stage.namespace, "--force", "--grace-period=0")
        code, rest = await logs.ends()
    assert code == 0
    assert sorted(map(attempt, rest)) == [("Chief 0", 1, "done"), ("Worker 0", 1, "told to stop")]


async def test_following_a_job_that_keeps_its_pods_ends_with_the_job(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await stage.submit({"cleanPodPolicy": "None"})
    await stage.run_all()
    chief, server = stage.child("Chief"), stage.child("PS")
    for name in (chief, server):
        node.bind(crds, stage.namespace, name)
    async with person.watching("logs", stage.name, "-f") as logs:
        node.write(stage.namespace, server, "serves")
        assert await logs.line() == "ps-0     | serves"
        node.write(stage.namespace, chief, "done")
        assert await logs.line() == "chief-0  | done"
        node.end(stage.namespace, chief)
        await stage.kubelet.exit(chief)
        assert await logs.ends() == (0, [])


async def test_a_stream_that_breaks_off_loses_nothing_and_tells_nothing_twice(
    stage: Stage, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    chief = stage.child("Chief")
    node.write(stage.namespace, chief, "one", "two")
    async with Client(load(str(crds.kubeconfig)), silence=0.2) as impatient:
        found = Found(stage.cast.framework, await stage.job())
        follower = Follower(impatient, Ask("tensorflow", role="Chief"), lambda trouble: None)
        told = follower.lines(looks(lambda: facts.look(impatient, found)))
        async with aclosing(told), asyncio.timeout(PATIENCE):
            assert [(await anext(told)).message for _ in range(2)] == ["one", "two"]
            before = len(node.asked)
            await stage.until(lambda: asked_again(node, before + 2), "the log to be asked for again")
            node.write(stage.namespace, chief, "three")
            assert (await anext(told)).message == "three"
            node.end(stage.namespace, chief)
            await stage.kubelet.exit(chief)
            assert [line.message async for line in told] == []


async def test_more_members_than_can_be_followed_at_once_have_to_be_chosen_from(
    stage: Stage, person: Person
) -> None:
    await stage.submit({"suspend": True}, Worker={"replicas": 101})
    await stage.until_state("Suspended")
    result = await person.says("logs", stage.name, "-f", "--role", "Worker", code=2)
    assert result.stderr == (
        "trainop: 101 members are too many to follow at once (most: 100): choose some with --role and --index\n"
    )


async def test_ctrl_c_ends_following_without_a_word(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    node.write(stage.namespace, stage.child("Chief"), "here")
    async with person.watching("logs", stage.name, "-f") as logs:
        assert await logs.line() == "chief-0  | here"
        logs.interrupt()
        assert await logs.ends() == (130, [])


async def test_following_ends_also_where_a_log_cannot_be_read(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    """The node is known, and where it is is not."""
    await stage.submit({"cleanPodPolicy": "None"})
    await stage.run_all()
    crds.run("create", "-f", "-", stdin='{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lost"}}')
    Node("lost").bind(crds, stage.namespace, stage.child("PS"))
    node.bind(crds, stage.namespace, stage.child("Chief"))
    node.write(stage.namespace, stage.child("Chief"), "done")
    node.end(stage.namespace, stage.child("Chief"))
    await stage.kubelet.exit(stage.child("Chief"))
    await stage.until_state("Succeeded")
    result = await person.says("logs", stage.name, "-f", code=3)
    assert result.stdout == "chief-0  | done\n"
    assert result.stderr.startswith("trainop: the log of ps-0 cannot be read: ")


@pytest.mark.parametrize("words", [(), ("-f",)])
async def test_who_may_not_read_logs_is_told_so_once(
    stage: Stage, crds: Cluster, tmp_path: Path, words: tuple[str, ...]
) -> None:
    await stage.submit()
    await stage.run_all()
    limited = Person(reader(crds, stage.namespace, tmp_path), stage.namespace)
    result = await limited.says("logs", stage.name, *words, code=1)
    assert 'cannot get resource "pods/log"' in result.stderr
    assert len(result.stderr.splitlines()) == 1


async def asked_again(node: Node, times: int) -> bool:
    return len(node.asked) >= times


async def is_going(stage: Stage, name: str) -> bool:
    pod = (await stage.pods()).get(name)
    return pod is not None and "deletionTimestamp" in pod["metadata"]
