"""The kinds of 2017, from YAML to the end, on every stage: their children, their status, their RuntimeId."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw

TF_ROLES = {"Master": 1, "Worker": 2, "PS": 1}
MX_ROLES = {"Scheduler": 1, "Server": 1, "Worker": 2}
KINDS: dict[str, dict[str, Any]] = {
    "TfJob.tensorflow.org": {"replicas": TF_ROLES, "decider": "Master", "server": "PS"},
    "TfJob.mlkube.io": {"replicas": TF_ROLES, "decider": "Master", "server": "PS"},
    "MxJob.mlkube.io": {"replicas": MX_ROLES, "decider": "Scheduler", "server": "Server"},
    "MxJob.mxnet.mlkube.io": {"replicas": MX_ROLES, "decider": "Scheduler", "server": "Server"},
}


class Era(Cast):
    """Writes its jobs as in 2017."""

    @property
    def type_field(self) -> str:
        return "tfReplicaType" if self.kind == "TfJob" else "mxReplicaType"

    def job(self, name: str, *, policy: Any = None, **roles: Any) -> Raw:
        made = super().job(name, policy=policy, **roles)
        spec = {key: value for key, value in made["spec"].items() if key != self.framework.replicas_field}
        if self.kind == "MxJob":
            spec = {"jobMode": "dist"} | spec
        spec["replicaSpecs"] = [
            {self.type_field: role.upper(), **replica}
            for role, replica in made["spec"][self.framework.replicas_field].items()
        ]
        return made | {"spec": spec}


@pytest.fixture(params=KINDS)
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Era(known[request.param], **KINDS[request.param])


class Players:
    """The members of a job by their names of 2017."""

    def __init__(self, stage: Stage, runtime_id: str) -> None:
        self._stage, self.runtime_id = stage, runtime_id

    def name(self, role: str, index: int = 0) -> str:
        before = f"{self._stage.name}-" if self._stage.cast.kind == "MxJob" else ""
        return f"{before}{role.lower()}-{self.runtime_id}-{index}"

    @property
    def all(self) -> list[str]:
        replicas = self._stage.cast.replicas
        return [self.name(role, i) for role, count in replicas.items() for i in range(count)]

    async def run(self) -> None:
        await self._stage.until_pods_are(self.all)
        for name in self.all:
            await self._stage.kubelet.run(name)


async def submitted(stage: Stage, policy: Mapping[str, Any] | None = None) -> Players:
    """The job, once its RuntimeId stands in its spec."""
    await stage.submit(policy)

    async def stamped() -> bool:
        return bool((await stage.job())["spec"].get("RuntimeId"))

    await stage.until(stamped, "a RuntimeId")
    return Players(stage, (await stage.job())["spec"]["RuntimeId"])


async def until_phase(stage: Stage, phase: str, state: str) -> Raw:
    async def there() -> bool:
        status = (await stage.job()).get("status", {})
        return (status.get("phase"), status.get("state")) == (phase, state)

    await stage.until(there, f"phase {phase}, state {state}")
    return dict((await stage.job())["status"])


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
