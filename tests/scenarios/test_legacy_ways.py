"""What only jobs of 2017 do, on every stage: any member as the chief, any name, their events, their TensorBoard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.scenarios.era import KINDS, Era, Players, named, submitted, until_phase
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import EVENTS, SERVICES, Raw

TF, MX = "TfJob.tensorflow.org", "MxJob.mlkube.io"
only_tf = pytest.mark.parametrize("cast", [TF], indirect=True)


@pytest.fixture(params=[TF, MX])
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Era(known[request.param], **KINDS[request.param])


@only_tf
async def test_the_chief_decides_alone_also_among_those_of_its_type(stage: Stage) -> None:
    """legacy §3.4: worker 1 is the chief; worker 0 and the master are not, however they end."""
    chief = {"terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 1}}}
    own = stage.casting(fields=chief)
    players = await submitted(own)
    await players.run()
    await until_phase(own, "Running", "Running")
    pods = await own.pods()
    assert {name: pods[name]["spec"]["restartPolicy"] for name in players.all if "ps" not in name} == {
        players.name("Master"): "OnFailure",
        players.name("Worker", 0): "OnFailure",
        players.name("Worker", 1): "Never",
    }
    await own.kubelet.exit(players.name("Master"), 0)
    await own.kubelet.exit(players.name("Worker", 1), 1)
    status = await until_phase(own, "Done", "Failed")
    assert [entry["state"] for entry in status["replicaStatuses"]] == ["Succeeded", "Failed", "Running"]


async def test_a_name_may_begin_with_a_digit_where_no_service_has_it(stage: Stage) -> None:
    """legacy §2.1: names of Services are stricter than those of jobs and pods."""
    own = replace(stage, name=f"1st.{stage.name}")
    if own.cast.kind == "MxJob":
        await own.submit()
        status = await until_phase(own, "Failed", "Failed")
        assert status["reason"].startswith("invalid job spec: metadata.name: must be a DNS label")
        await own.delete()
        own = own.casting(replicas={"Worker": 1}, fields={"jobMode": "local"})
        own = replace(own, name=f"{own.name}-local")
    players = await submitted(own)
    await players.run()
    await own.kubelet.exit(players.name("Master" if own.cast.kind == "TfJob" else "Worker"), 0)
    await until_phase(own, "Done", "Succeeded")


async def test_a_job_that_takes_its_pods_away_is_done_when_they_are_gone(stage: Stage) -> None:
    players = await submitted(stage, policy={"cleanPodPolicy": "All"})
    await players.run()
    await until_phase(stage, "Running", "Running")
    await stage.kubelet.exit(players.name(stage.cast.decider), 0)
    await until_phase(stage, "Done", "Succeeded")
    await stage.until_pods_are([])
    await stage.until_services_are([])


@pytest.mark.parametrize("cast", [MX], indirect=True)
@pytest.mark.parametrize(
    "stage_name", ["memory", pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True
)
async def test_what_the_user_tells_ps_lite_stays_before_what_the_operator_does(stage: Stage) -> None:
    """legacy §2.5: PS_VERBOSE and its like are the user's; the operator sets DMLC_* and nothing else."""
    verbose = {"name": "PS_VERBOSE", "value": "1"}
    container = {"name": "mxnet", "image": "example/train", "env": [verbose]}
    await stage.submit(Worker={"template": {"spec": {"containers": [container]}}})
    players = await named(stage)
    await stage.until_pods_are(players.all)
    (worker,) = (await stage.pods())[players.name("Worker")]["spec"]["containers"]
    assert worker["env"][0] == verbose
    assert [entry["name"] for entry in worker["env"][1:]] == [
        "DMLC_PS_ROOT_PORT", "DMLC_PS_ROOT_URI", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER", "DMLC_ROLE",
        "DMLC_USE_KUBERNETES",
    ]  # fmt: skip
    (server,) = (await stage.pods())[players.name("Server")]["spec"]["containers"]
    assert "PS_VERBOSE" not in {entry["name"] for entry in server["env"]}


async def test_events_about_children_have_the_reason_and_the_source_of_then(stage: Stage) -> None:
    """legacy §3.8."""
    players = await submitted(stage)
    await stage.until_pods_are(players.all)
    decider = players.name(stage.cast.decider)
    await stage.until_told("SuccessfulCreate", f"Created pod: {decider}")
    await stage.until_told("SuccessfulCreate", f"Created service: {decider}")
    found = await stage.api.list(EVENTS, dict, namespace=stage.namespace)
    told: list[Raw] = [it for it in found.items if it["involvedObject"]["name"] == stage.name]
    assert {it["source"]["component"] for it in told} == {"kubeflow"}


async def test_a_child_that_cannot_be_made_is_told_in_the_words_of_then(stage: Stage) -> None:
    own = stage.casting(fields={"RuntimeId": f"mine-{stage.name[-4:]}"})
    taken = Players(own, f"mine-{stage.name[-4:]}").name(own.cast.decider)
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": taken, "labels": {}},
        "spec": {"ports": [{"port": 80}]},
    }
    await own.api.create(SERVICES, own.namespace, foreign, dict)
    await own.submit()
    why = f"service {taken} exists and is not this job's: delete or rename it, or rename the job"
    await own.until_told("FailedCreate", f"Error creating: {why}")

    async def said() -> bool:
        return bool((await own.job()).get("status", {}).get("reason", "").startswith(why))

    await own.until(said, "the same as the reason")


@only_tf
async def test_a_tensorboard_of_2017_that_is_lost_is_replaced_also_after_the_job(stage: Stage) -> None:
    own = stage.casting(fields={"tensorboard": {"logDir": "/logs"}})
    players = await submitted(own)
    board = f"tensorboard-{players.runtime_id}"
    await own.until_pods_are([*players.all, board])
    await own.kubelet.run(players.name("Master"))
    for done in (False, True):
        if done:
            await own.kubelet.exit(players.name("Master"), 0)
            await until_phase(own, "Done", "Succeeded")
        before = (await own.pods())[board]["metadata"]["uid"]
        await own.kubelet.evict(board)
        await own.until_replaced(board, before)
    await own.until_services_are([*players.all, board])
