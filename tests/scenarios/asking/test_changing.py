"""`trainop suspend`, `resume` and `delete` on a real API server: what they do, and honest words about it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.scenarios.asking.person import Person
from tests.scenarios.stage import Stage


async def test_suspend_and_resume_say_what_they_did_and_what_was_so_already(
    stage: Stage, person: Person
) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    title = f"TFJob {stage.namespace}/job"
    assert (await person.says("resume", stage.name)).stdout == f"{title} is not suspended\n"
    assert (await person.says("suspend", stage.name)).stdout == f"{title} is suspended\n"
    assert (await person.says("suspend", stage.name)).stdout == f"{title} is suspended already\n"
    await stage.until_pods_are([])
    answer = await person.asks("resume", stage.name)
    assert (answer["changed"], answer["message"]) == (True, f"{title} is resumed")
    await stage.run_all()
    await stage.until_state("Running")


async def test_a_job_that_has_ended_cannot_be_suspended(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    result = await person.says("suspend", stage.name, code=1)
    assert result.stderr == (
        f"TFJob {stage.namespace}/job has succeeded: it cannot be suspended; delete it and submit it anew\n"
    )
    assert "suspend" not in (await stage.job())["spec"].get("runPolicy", {})


async def test_delete_waits_until_the_pods_are_gone(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.run_all()
    answer = await person.asks("delete", stage.name, "--wait")
    assert (answer["changed"], answer["message"]) == (
        True,
        f"TFJob {stage.namespace}/job and its pods are gone",
    )
    assert await stage.pods() == {}
    again = await person.says("delete", stage.name, code=2)
    assert again.stderr.startswith(f"trainop: no job is called job in namespace {stage.namespace}")


async def test_a_file_names_the_job(stage: Stage, person: Person, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(stage.cast.job(stage.name)))
    await stage.submit({"suspend": True})
    assert (await person.asks("delete", str(file)))["name"] == "job"
    await person.says("wait", stage.name, "--for", "deleted")


async def test_a_job_that_somebody_holds_is_being_deleted_already(stage: Stage, person: Person) -> None:
    await stage.submit({"suspend": True})
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await stage.api.patch(stage.jobs, stage.namespace, stage.name, held, dict)
    title = f"TFJob {stage.namespace}/job"
    assert (await person.says("delete", stage.name)).stdout == f"{title} is deleted\n"
    assert (await person.says("delete", stage.name)).stdout == f"{title} is being deleted already\n"
    found = await person.explains(stage.name)
    assert (found["cause"], found["evidence"]) == (
        "BeingDeleted",
        ["held by the finalizers example.com/hold"],
    )
    let_go = {"metadata": {"finalizers": None}}
    await stage.api.patch(stage.jobs, stage.namespace, stage.name, let_go, dict)
    await person.says("wait", stage.name, "--for", "deleted")
