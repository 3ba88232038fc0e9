"""What the node makes of a pod, with real processes: what a kubelet would."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from trainop.errors import Gone
from trainop.kube.memory import Memory
from trainop.kube.port import PODS, Raw
from trainop.local import warden
from trainop.local.folder import Folder
from trainop.local.guard import guarded
from trainop.local.node import Node
from trainop.local.options import Options

PATIENCE = 60.0
"""Seconds."""
FOREVER = ["sleep", "1000"]


class House:
    """A node, and the API server that tells it what to run."""

    def __init__(self, folder: Folder) -> None:
        self.api, self.folder, self.run = Memory(), folder, secrets.token_hex(8)
        self.node = Node(self.api, self.run, folder, Options())

    async def create(self, *commands: list[str], policy: str = "Never", **spec: Any) -> None:
        """A pod `p` with a container c0, c1 … for each command."""
        containers = [container(f"c{i}", command) for i, command in enumerate(commands)]
        body = {
            "metadata": {"name": "p"},
            "spec": {"restartPolicy": policy, "containers": containers, **spec},
        }
        await self.api.create(PODS, "default", body, dict)

    async def pod(self) -> Raw:
        return await self.api.get(PODS, "default", "p", dict)

    async def until(self, holds: Callable[[Raw], bool]) -> Raw:
        async with asyncio.timeout(PATIENCE):
            while True:
                if holds(pod := await self.pod()):
                    return pod
                await asyncio.sleep(0.01)

    async def until_ended(self) -> Raw:
        return await self.until(lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))

    async def until_running(self, containers: int = 1) -> Raw:
        return await self.until(lambda pod: [c["ready"] for c in statuses(pod)] == [True] * containers)

    async def until_gone(self) -> None:
        with pytest.raises(Gone):
            await self.until(lambda pod: False)

    async def delete(self) -> None:
        await self.api.delete(PODS, "default", "p", (await self.pod())["metadata"]["uid"])

    def log(self, name: str) -> str:
        return (self.folder.logs / "p" / name).read_text()

    def alive(self) -> list[int]:
        return list(warden.marked(f"{self.run}/"))


def container(name: str, command: list[str], **more: Any) -> Raw:
    return {"name": name, "image": "i", "command": command, **more}


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def statuses(pod: Raw, field: str = "containerStatuses") -> list[Raw]:
    return pod["status"].get(field) or []


def codes(pod: Raw, field: str = "containerStatuses") -> list[int | None]:
    return [c["state"].get("terminated", {}).get("exitCode") for c in statuses(pod, field)]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    found = House(Folder(tmp_path))
    async with guarded(found.run, found.folder.pids):
        work = asyncio.create_task(found.node.run())
        yield found
        work.cancel()
        await found.node.close()
    assert found.alive() == []


async def test_a_pod_that_ends_well_has_succeeded(house: House) -> None:
    await house.create(shell("echo hello; echo more >&2"))
    pod = await house.until_ended()
    (status,) = statuses(pod)
    ended = status["state"]["terminated"]
    assert (pod["status"]["phase"], pod["spec"]["nodeName"]) == ("Succeeded", "localhost")
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert ended["startedAt"] <= ended["finishedAt"]
    assert (status["ready"], status["restartCount"]) == (False, 0)
    assert house.log("c0.0.log") == "hello\nmore\n"
    assert list(house.folder.pids.iterdir()) == []


async def test_a_pod_that_runs_tells_its_process(house: House) -> None:
    await house.create(FOREVER)
    pod = await house.until_running()
    assert (pod["status"]["phase"], pod["status"]["podIP"]) == ("Running", "127.0.0.1")
    pid = int((house.folder.pids / "p.c0").read_text())
    assert os.getpgid(pid) == pid
    assert house.alive() == [pid]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (shell("exit 3"), 3),
        (shell("kill -KILL $$$$"), 137),
        (shell("kill -SEGV $$$$"), 139),
        (["/nowhere/at/all"], 127),
        (["no-such-program"], 127),
        (["/etc/passwd"], 126),
        (["echo", "nul\0"], 126),
    ],
)
async def test_how_a_pod_fails(house: House, command: list[str], code: int) -> None:
    await house.create(command)
    pod = await house.until_ended()
    assert (pod["status"]["phase"], codes(pod)) == ("Failed", [code])
    assert statuses(pod)[0]["state"]["terminated"]["reason"] == (
        "StartError" if code in (126, 127) else "Error"
    )


async def test_a_command_that_cannot_be_started_is_told_in_the_log_and_in_the_status(house: House) -> None:
    await house.create(["no-such-program"])
    ended = statuses(await house.until_ended())[0]["state"]["terminated"]
    assert ended["message"] == "no-such-program cannot be started: not found"
    assert house.log("c0.0.log") == f"trainop: {ended['message']}\n"


async def test_all_containers_must_end_and_one_that_fails_fails_the_pod(house: House, tmp_path: Path) -> None:
    go = tmp_path / "go"
    await house.create(shell("exit 2"), shell(f"while [ ! -e {go} ]; do sleep 0.05; done"))
    pod = await house.until(lambda pod: codes(pod) == [2, None])
    assert pod["status"]["phase"] == "Running"
    go.touch()
    pod = await house.until_ended()
    assert (pod["status"]["phase"], codes(pod)) == ("Failed", [2, 0])


async def test_on_failure_restarts_in_place_until_it_ends_well(house: House, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    await house.create(shell(f"echo try; [ -e {tried} ] || {{ touch {tried}; exit 5; }}"), policy="OnFailure")
    pod = await house.until(
        lambda pod: any("waiting" in c["state"] and c["lastState"] for c in statuses(pod))
    )
    (waits,) = statuses(pod)
    assert (waits["state"]["waiting"]["reason"], pod["status"]["phase"]) == ("CrashLoopBackOff", "Running")
    assert waits["lastState"]["terminated"]["exitCode"] == 5
    pod = await house.until_ended()
    (ended,) = statuses(pod)
    assert (pod["status"]["phase"], ended["restartCount"], codes(pod)) == ("Succeeded", 1, [0])
    assert [house.log(f"c0.{number}.log") for number in (0, 1)] == ["try\n", "try\n"]


async def test_always_restarts_also_what_ended_well(house: House) -> None:
    await house.create(shell("exit 0"), policy="Always")
    pod = await house.until(lambda pod: any(c["restartCount"] for c in statuses(pod)))
    assert pod["status"]["phase"] == "Running"


async def test_a_pod_that_waits_to_be_restarted_is_deleted_at_once(house: House) -> None:
    await house.create(shell("exit 1"), policy="Always")
    await house.until(lambda pod: any(c["restartCount"] for c in statuses(pod)) and not house.alive())
    await house.delete()
    await house.until_gone()


async def test_init_containers_run_first_and_one_after_the_other(house: House, tmp_path: Path) -> None:
    story = tmp_path / "story"
    first = [container(name, shell(f"sleep 0.1; echo {name} >> {story}")) for name in ("one", "two")]
    await house.create(shell(f"echo main >> {story}"), initContainers=first)
    pod = await house.until_ended()
    assert story.read_text().split() == ["one", "two", "main"]
    assert (pod["status"]["phase"], codes(pod, "initContainerStatuses")) == ("Succeeded", [0, 0])


async def test_an_init_container_that_fails_ends_the_pod_before_it_begins(house: House) -> None:
    await house.create(shell("echo never"), initContainers=[container("first", shell("exit 4"))])
    pod = await house.until_ended()
    assert (pod["status"]["phase"], codes(pod, "initContainerStatuses")) == ("Failed", [4])
    assert statuses(pod)[0]["state"] == {"waiting": {"reason": "PodInitializing"}}


async def test_an_init_container_is_tried_again_where_the_pod_is(house: House, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    script = f"[ -e {tried} ] || {{ touch {tried}; exit 5; }}"
    await house.create(shell("true"), initContainers=[container("first", shell(script))], policy="OnFailure")
    pod = await house.until_ended()
    assert (pod["status"]["phase"], statuses(pod, "initContainerStatuses")[0]["restartCount"]) == (
        "Succeeded",
        1,
    )


async def test_a_native_sidecar_runs_beside_and_does_not_keep_the_pod(house: House, tmp_path: Path) -> None:
    there = tmp_path / "there"
    sidecar = container("proxy", shell(f"touch {there}; exec sleep 1000"), restartPolicy="Always")
    await house.create(shell(f"while [ ! -e {there} ]; do sleep 0.05; done"), initContainers=[sidecar])
    pod = await house.until_ended()
    assert (pod["status"]["phase"], codes(pod, "initContainerStatuses")) == ("Succeeded", [143])


async def test_a_deleted_pod_is_told_to_end_and_is_gone_when_it_has(house: House) -> None:
    script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    await house.create(shell(script))
    await house.until_running()
    await asyncio.to_thread(_until_written, house.folder.logs / "p" / "c0.0.log")
    await house.delete()
    await house.until_gone()
    assert house.log("c0.0.log").splitlines()[-1] == "saved"


async def test_a_member_that_ignores_sigterm_is_killed_after_its_grace_period(house: House) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    await house.create(shell(script), terminationGracePeriodSeconds=1)
    await house.until_running()
    await asyncio.to_thread(_until_written, house.folder.logs / "p" / "c0.0.log")
    await house.delete()
    await house.until_gone()
    assert house.alive() == []


async def test_what_a_container_leaves_behind_ends_with_it_also_in_a_session_of_its_own(house: House) -> None:
    script = (
        "import subprocess, sys\n"
        "subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "subprocess.Popen(['sleep', '1000'])\n"
    )
    await house.create([sys.executable, "-c", script])
    await house.until_ended()
    assert house.alive() == []


async def test_a_pod_of_the_same_name_waits_until_the_one_before_is_gone(house: House) -> None:
    await house.create(FOREVER)
    await house.until_running()
    old = (await house.pod())["metadata"]["uid"]
    await house.api.remove(PODS, "default", "p")
    await house.create(FOREVER)
    pod = await house.until_running()
    assert pod["metadata"]["uid"] != old
    assert len(house.alive()) == 1


async def test_an_empty_dir_is_shared_by_the_containers_of_a_pod_and_by_no_other(house: House) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/shared"}]}
    write = container("write", shell("echo from the first > /shared/x"), **mount)
    await house.create(
        initContainers=[write],
        volumes=volumes,
        containers=[container("read", shell("cat /shared/x"), **mount)],
    )
    await house.until_ended()
    assert house.log("read.0.log") == "from the first\n"
    await house.delete()
    await house.until_gone()
    await house.create(volumes=volumes, containers=[container("read", shell("ls -A /shared"), **mount)])
    await house.until_ended()
    assert house.log("read.1.log") == ""


async def test_closing_the_node_stops_everything_and_leaves_it_to_be_seen(house: House) -> None:
    await house.create(FOREVER)
    await house.until_running()
    await house.node.close()
    pod = await house.pod()
    assert (codes(pod), house.alive()) == ([143], [])


async def test_killing_does_not_wait_for_anyone(house: House) -> None:
    await house.create(
        shell("trap '' TERM; while :; do sleep 0.05; done"), terminationGracePeriodSeconds=1000
    )
    await house.until_running()
    closing = asyncio.create_task(house.node.close())
    house.node.kill()
    await asyncio.wait_for(closing, PATIENCE)
    assert codes(await house.pod()) == [128 + signal.SIGKILL]


def _until_written(log: Path) -> None:
    from tests.cluster import waiting

    waiting.until(f"{log} has been written to", log.read_text)
