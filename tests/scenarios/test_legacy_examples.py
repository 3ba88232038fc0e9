"""Every job in examples/legacy, as it stands there: its children, what they are told, its end and its TensorBoard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw

FOLDER = Path(__file__).parents[2] / "examples" / "legacy"
TF, OLDER = "TfJob.tensorflow.org", "TfJob.mlkube.io"
MX, LATER = "MxJob.mlkube.io", "MxJob.mxnet.mlkube.io"
FOUR = ["master-{}-0", "worker-{}-0", "ps-{}-0", "ps-{}-1"]
MASTER = ["master-{}-0"]
SIX = [
    f"example-dist-job-{role}-{{}}-{index}"
    for role, count in (("scheduler", 1), ("server", 2), ("worker", 3))
    for index in range(count)
]


class Expected(NamedTuple):
    kind: str
    pods: list[str]
    """With a place for the RuntimeId; the first of them decides."""
    board: bool = False
    told: str = ""
    """By a Warning."""


SNAKE = "spec.replica_specs is read as replicaSpecs"
EXAMPLES = {
    "tf_job.yaml": Expected(TF, FOUR),
    "tf_job_gpu.yaml": Expected(TF, MASTER, told=SNAKE),
    "tf_job_tensorboard_azure.yaml": Expected(TF, MASTER, board=True, told=SNAKE),
    "tf_job_tensorboard_gke.yaml": Expected(TF, MASTER, board=True, told=SNAKE),
    "tf_job_dumped.yaml": Expected(TF, FOUR, board=True),
    "tfjob_sample_image.yaml": Expected(TF, MASTER),
    "tfjob_cpu.yaml": Expected(TF, MASTER),
    "tfjob_gpu.yaml": Expected(TF, MASTER),
    "tfjob_azure_files.yaml": Expected(TF, MASTER),
    "tfjob_tensorboard.yaml": Expected(TF, MASTER, board=True),
    "mlkube_tf_job.yaml": Expected(OLDER, FOUR, told=SNAKE),
    "mx_job_local.yaml": Expected(MX, ["example-job-worker-{}-0"]),
    "mx_job_dist.yaml": Expected(MX, SIX),
    "mxnet_mlkube_mx_job_dist.yaml": Expected(LATER, SIX),
}


def test_every_example_is_played() -> None:
    assert {path.name for path in FOLDER.glob("*.yaml")} == EXAMPLES.keys()


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stage_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cast(example: str, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[EXAMPLES[example].kind], {}, "", "")


@pytest.fixture
async def played(stage: Stage, example: str) -> AsyncIterator[Stage]:
    """The stage with the job on it, under its own name: so it is taken away for the next one."""
    raw: Raw = yaml.safe_load((FOLDER / example).read_text())
    own = replace(stage, name=raw["metadata"]["name"])
    await own.api.create(own.jobs, own.namespace, raw, dict)
    yield own
    await own.delete()
    await own.until_pods_are([])
    await own.until_services_are([])


async def runtime_id(stage: Stage) -> str:
    async def there() -> bool:
        return bool((await stage.job())["spec"].get("RuntimeId"))

    await stage.until(there, "a RuntimeId")
    return str((await stage.job())["spec"]["RuntimeId"])


async def until_done(stage: Stage) -> Raw:
    async def done() -> bool:
        return bool((await stage.job()).get("status", {}).get("phase") == "Done")

    await stage.until(done, "phase Done")
    return dict((await stage.job())["status"])


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
            assert names[-1] == "DMLC_ROLE"
            assert len(names) == 5
        else:
            assert names == []
