"""The kinds of 2017, from YAML to the end, on every stage: their children, their status, their RuntimeId."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.era import KINDS, Era, Players, submitted, until_phase
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework


@pytest.fixture(params=KINDS)
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Era(known[request.param], **KINDS[request.param])


async def test_a_job_of_2017_goes_from_yaml_to_done(stage: Stage) -> None:
    players = await submitted(stage)
    await players.run()
    await until_phase(stage, "Running", "Running")
    await stage.kubelet.exit(players.name(stage.cast.decider), 0)
    status = await until_phase(stage, "Done", "Succeeded")
    field = "tf_replica_type" if stage.cast.kind == "TfJob" else "Mx_replica_type"
    assert {entry[field]: entry["ReplicasStates"] for entry in status["replicaStatuses"]} == {
        role.upper(): {"Succeeded": 1} if role == stage.cast.decider else {"Running": count}
        for role, count in stage.cast.replicas.items()
    }
    assert [(it["type"], it["status"]) for it in status["conditions"]][-1] == ("Succeeded", "True")
    assert sorted(await stage.pods()) == sorted(players.all), (
        "nobody is taken away: DECISIONS, after completion"
    )


async def test_each_member_of_a_tfjob_and_the_scheduler_of_an_mxjob_has_a_service(stage: Stage) -> None:
    players = await submitted(stage)
    await stage.until_pods_are(players.all)
    served = players.all if stage.cast.kind == "TfJob" else [players.name("Scheduler")]
    await stage.until_services_are(served)


async def test_a_runtime_id_that_the_user_gives_is_kept(stage: Stage) -> None:
    own = stage.casting(fields={"RuntimeId": f"mine-{stage.name[-4:]}"})
    players = await submitted(own)
    assert players.runtime_id == f"mine-{stage.name[-4:]}"
    await own.until_pods_are(players.all)


async def test_a_permanent_exit_code_of_who_decides_fails_the_job(stage: Stage) -> None:
    players = await submitted(stage)
    await players.run()
    await stage.kubelet.exit(players.name(stage.cast.decider), 1)
    status = await until_phase(stage, "Done", "Failed")
    assert status["conditions"][-1]["type"] == "Failed"


async def test_an_exit_code_of_128_or_more_brings_a_new_pod(stage: Stage) -> None:
    players = await submitted(stage)
    await players.run()
    await until_phase(stage, "Running", "Running")
    name = players.name(stage.cast.decider)
    before = (await stage.pods())[name]["metadata"]["uid"]
    await stage.kubelet.exit(name, 139)
    await stage.until_replaced(name, before)
    await stage.kubelet.run(name)
    await until_phase(stage, "Running", "Running")


async def test_a_bad_job_is_in_phase_failed_and_says_why(stage: Stage) -> None:
    decider = stage.cast.decider
    await stage.submit(**{decider: {"replicas": 2}})
    status = await until_phase(stage, "Failed", "Failed")
    assert status["reason"] == f"invalid job spec: The {decider.upper()} must have Replicas = 1"
    assert await stage.pods() == {}


async def test_another_spelling_is_read_and_told_once(stage: Stage) -> None:
    job = stage.cast.job(stage.name)
    job["spec"]["replica_specs"] = job["spec"].pop("replicaSpecs")
    await stage.api.create(stage.jobs, stage.namespace, job, dict)
    await stage.until_told("SpecReadAs", "spec.replica_specs is read as replicaSpecs")
    players = Players(stage, (await stage.job())["spec"]["RuntimeId"])
    await players.run()
    await until_phase(stage, "Running", "Running")
    assert [reason for reason, _ in await stage.events()].count("SpecReadAs") == 1


async def test_no_member_is_left_when_the_job_is_deleted(stage: Stage) -> None:
    players = await submitted(stage)
    await players.run()
    await stage.delete()
    await stage.until_pods_are([])
