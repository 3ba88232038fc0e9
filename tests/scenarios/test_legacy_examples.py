"""Every job in examples/legacy, as it stands there: its children, what they are told, its end and its TensorBoard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.legacy_examples import EXAMPLES, FOLDER, runtime_id, until_done
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw


def test_every_example_is_played() -> None:
    assert {path.name for path in FOLDER.glob("*.yaml")} == EXAMPLES.keys()


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cast(example: str, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[EXAMPLES[example].kind], {}, "", "")


@pytest.mark.parametrize(
    "stage_name", ["memory", pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True
)
async def test_a_job_of_the_folder_runs_to_its_end(played: Stage, example: str) -> None:
    kind, pods, board, told = EXAMPLES[example]
    id_ = await runtime_id(played)
    members = [name.format(id_) for name in pods]
    beside = [f"tensorboard-{id_}"] if board else []
    await played.until_pods_are([*members, *beside])
    served = members if "Tf" in kind else [name for name in members if "scheduler" in name]
    await played.until_services_are([*served, *beside])
    if told:
        await until_remarked(played, told)
    for name in [*members, *beside]:
        await played.kubelet.run(name)
    _check_env(kind, members, await played.pods())
    _check_default_servers([pod for name, pod in (await played.pods()).items() if name.startswith("ps-")])

    await played.kubelet.exit(members[0], 0)
    status = await until_done(played)
    assert (status["state"], status["reason"], status["controlPaused"]) == ("Succeeded", "", False)
    assert status["replicaStatuses"][0]["ReplicasStates"] == {"Succeeded": 1}
    assert set(await played.pods()) == {*members, *beside}, "all stay for their logs, and the TensorBoard"
    if board:
        service = (await played.services())[f"tensorboard-{id_}"]["spec"]
        assert [(port["port"], port["targetPort"]) for port in service["ports"]] == [(80, 6006)]


async def until_remarked(stage: Stage, beginning: str) -> None:
    async def remarked() -> bool:
        return any(
            reason == "SpecReadAs" and message.startswith(beginning)
            for reason, message in await stage.events()
        )

    await stage.until(remarked, f"an event that begins with {beginning}")


def _check_env(kind: str, members: list[str], pods: dict[str, Raw]) -> None:
    for name in members:
        (container,) = pods[name]["spec"]["containers"]
        names = [entry["name"] for entry in container.get("env", ())]
        if "Tf" in kind:
            assert names == ["TF_CONFIG"]
        elif len(members) > 1:
            assert names[-2:] == ["DMLC_ROLE", "DMLC_USE_KUBERNETES"]
            assert len(names) == 6
        else:
            assert names == []


def _check_default_servers(pods: list[Raw]) -> None:
    """No PS of the folder says what to run, or an operator of 2017 has said it: each is a plain server."""
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["image"] == "tensorflow/tensorflow:1.3.0"
        assert container["command"][:2] == ["python", "-c"]
        assert "tf.train.ClusterSpec" in container["command"][2]
        assert "ps-config-volume" not in {volume["name"] for volume in pod["spec"].get("volumes", ())}
