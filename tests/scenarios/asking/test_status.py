"""`trainop status` and `trainop wait` on a real API server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import click
import pytest

from tests.scenarios.asking.person import Person
from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework


async def running(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await until(stage, progress="4/4")


async def until(stage: Stage, **fields: object) -> None:
    """The operator has written this."""

    async def written() -> bool:
        status = (await stage.job()).get("status", {})
        return all(status.get(field) == value for field, value in fields.items())

    await stage.until(written, str(fields))


async def test_a_job_is_shown_with_its_members_and_its_events(stage: Stage, person: Person) -> None:
    await running(stage)
    await stage.kubelet.crash(stage.child("Worker", 1), 139, restarts=2)
    await until(stage, restartCount=2)
    told = "container tensorflow waiting message: back-off 40s restarting failed container"
    await stage.until_told("CrashLoopBackOff", f"Error pod job-worker-1 {told}")
    lines = (await person.says("status", stage.name)).stdout.splitlines()
    assert lines[0].startswith(f"TFJob {stage.namespace}/job: Running, for ")
    assert lines[1:3] == [
        f"  TFJob {stage.namespace}/job is running.",
        "  Chief 1/1, PS 1/1, Worker 1/2; restarts: 2",
    ]
    head, *members = [line.split() for line in lines[4:9]]
    assert head == ["ROLE", "INDEX", "STATE", "RESTARTS", "AGE", "NODE", "EXIT"]
    assert [row[:4] for row in members] == [
        ["Chief", "0", "running", "0"],
        ["PS", "0", "running", "0"],
        ["Worker", "0", "running", "0"],
        ["Worker", "1", "CrashLoopBackOff", "2"],
    ]
    assert lines[8].endswith("139 SIGSEGV: it crashed in native code")
    assert lines[10].split() == ["AGO", "TYPE", "REASON", "EVENT"]
    assert len(lines[11:]) == 5
    assert any("CrashLoopBackOff" in line for line in lines[11:])


async def test_a_program_gets_the_stored_status_and_the_members(stage: Stage, person: Person) -> None:
    await running(stage)
    answer = await person.asks("status", f"tfj/{stage.name}")
    assert answer["status"] == (await stage.job())["status"]
    assert answer["state"] == "Running"
    assert answer["members"][0] | {"created": ""} == {
        "role": "Chief",
        "index": 0,
        "pod": "job-chief-0",
        "state": "running",
        "restarts": 0,
        "exitCode": None,
        "exitMeaning": None,
        "node": None,
        "created": "",
    }


async def test_without_a_job_all_of_them_are_listed(stage: Stage, person: Person) -> None:
    nothing = await person.says("status")
    assert (nothing.stdout, nothing.stderr) == ("", f"no jobs in namespace {stage.namespace}\n")
    await running(stage)
    head, row = (await person.says("status")).stdout.splitlines()
    assert head.split() == ["NAME", "KIND", "STATE", "PROGRESS", "AGE", "TIME", "WHY"]
    assert row.split()[:4] == ["job", "TFJob", "Running", "4/4"]
    everywhere = (await person.says("status", "-A")).stdout
    assert f"\n{stage.namespace} " in everywhere
    (one,) = await person.asks("status")
    assert (one["name"], one["state"]) == ("job", "Running")


async def test_watching_tells_each_change_until_the_job_has_ended(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.until_state("Created")
    await stage.until_pods_are(stage.children())
    async with person.watching("status", stage.name, "-w") as status:
        assert "Created (Chief 0/1, PS 0/1, Worker 0/2; " in await status.line()
        await stage.run_all()
        await stage.until_state("Running")
        await stage.exit_all("Chief")
        code, rest = await status.ends()
    assert code == 0
    assert f"TFJob {stage.namespace}/job: Succeeded" in rest[-1]


async def test_on_a_terminal_a_screen_is_drawn_until_the_job_has_ended(stage: Stage, person: Person) -> None:
    await running(stage)
    watched = asyncio.create_task(person.at_a_terminal("status", stage.name, "-w"))
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    screen = click.unstyle(await watched).rpartition(f"TFJob {stage.namespace}/job: ")[2]
    assert screen.startswith("Succeeded after")
    assert "Chief   0      succeeded" in screen


@pytest.mark.parametrize(("env", "colour"), [({}, True), ({"NO_COLOR": "1"}, False)])
async def test_a_terminal_of_eighty_columns_is_not_overrun(
    stage: Stage, person: Person, env: dict[str, str], colour: bool
) -> None:
    await running(stage)
    await stage.kubelet.crash(stage.child("Worker", 1), 137, restarts=2, reason="OOMKilled")
    for words in (("status", stage.name), ("status",), ("explain", stage.name)):
        shown = await person.at_a_terminal(*words, **env)
        assert [line for line in click.unstyle(shown).splitlines() if len(line) > 80] == []
        assert ("\x1b[3" in shown or "\x1b[1m" in shown) == colour


async def test_a_bare_name_is_looked_up_under_all_kinds(stage: Stage, person: Person) -> None:
    near = await person.says("status", "jbo", code=2)
    assert near.stderr.startswith(f"trainop: no job is called jbo in namespace {stage.namespace}")
    await stage.submit({"suspend": True})
    near = await person.says("status", "jbo", code=2)
    assert near.stderr == (
        f"trainop: no job is called jbo in namespace {stage.namespace}: did you mean tfjob/job?\n"
    )
    await person.says("status", "mxjob/job", code=2)
    wrong = await person.says("status", "pyjob/job", code=2)
    assert (
        wrong.stderr
        == "trainop: no job kind is called pyjob; there are: MXJob, PyTorchJob, TFJob, XGBoostJob\n"
    )


async def test_a_name_that_two_kinds_have_must_be_said_with_the_kind(
    stage: Stage, person: Person, known: dict[str, Framework[Any]]
) -> None:
    await stage.submit({"suspend": True})
    other = replace(stage, cast=Cast(known["MXJob"], **PARTS["MXJob"]))
    await other.submit({"suspend": True})
    both = await person.says("status", "job", code=2)
    assert both.stderr == (
        f"trainop: several jobs are called job in namespace {stage.namespace}: say mxjob/job and tfjob/job\n"
    )
    assert (await person.asks("status", "MXJob/job"))["kind"] == "MXJob"


async def test_waiting_ends_when_it_is_so_and_tells_what_happens_meanwhile(
    stage: Stage, person: Person
) -> None:
    await stage.submit()
    async with person.watching("wait", stage.name, "--timeout", "5m") as wait:
        assert await wait.said()
        await stage.run_all()
        await stage.until_state("Running")
        await stage.exit_all("Chief")
        assert await wait.ends() == (0, [f"TFJob {stage.namespace}/job has succeeded"])
    over = await person.says("wait", stage.name, "--for", "failed", code=1)
    assert over.stderr.splitlines()[-1] == (
        f"TFJob {stage.namespace}/job has succeeded: it will not be failed any more"
    )


async def test_waiting_for_what_does_not_come_ends_in_time(stage: Stage, person: Person) -> None:
    await stage.submit({"suspend": True})
    await person.says("wait", stage.name, "--for", "condition=suspended", "--timeout", "5m")
    late = await person.says("wait", stage.name, "--for", "running", "--timeout", "1s", code=1)
    assert late.stderr.splitlines()[-1] == "the time is over, and job is not running"
    answer = json.loads(
        (
            await person.says(
                "wait", stage.name, "--for", "finished", "--timeout", "1s", "-o", "json", code=1
            )
        ).stdout
    )
    assert answer["reached"] is False


async def test_waiting_for_a_job_to_go(stage: Stage, person: Person) -> None:
    await running(stage)
    async with person.watching("wait", stage.name, "--for", "deleted") as wait:
        assert await wait.said()
        await stage.delete()
        assert await wait.ends() == (0, [f"TFJob {stage.namespace}/job was deleted"])
    there_is_none = await person.says("wait", stage.name, "--for", "deleted")
    assert there_is_none.stdout == "there is no job\n"
    await person.says("wait", stage.name, "--for", "running", code=2)


async def test_ctrl_c_ends_without_a_word(stage: Stage, person: Person) -> None:
    await running(stage)
    async with (
        person.watching("wait", stage.name) as wait,
        person.watching("status", stage.name, "-w") as status,
    ):
        for command, sign in ((wait, wait.said()), (status, status.line())):
            assert "Running" in await sign
            command.interrupt()
            assert await command.ends() == (130, [])


@pytest.mark.parametrize(
    ("goal", "hint"),
    [
        ("suceeded", "did you mean succeeded?"),
        ("condition=Runing", "did you mean running?"),
        ("x", "there are"),
    ],
)
async def test_a_goal_that_nobody_can_wait_for(person: Person, goal: str, hint: str) -> None:
    result = await person.says("wait", "job", "--for", goal, code=2)
    assert f"--for {goal}: nobody can wait for that: {hint}" in result.stderr
