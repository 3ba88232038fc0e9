"""What the guides of 2017 print with kubectl: each field is there, or what docs/migrating.md says stands for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from tests.scenarios.legacy_examples import EXAMPLES, FOLDER, runtime_id, until_done
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.parametrize("stage_name", ["cluster"], indirect=True),
]
# The status that the guide prints of the job in tf_job_dumped.yaml, but for `conditions`, which was null.
STATUS = {
    "controlPaused": False,
    "phase": "Done",
    "reason": "",
    "state": "Succeeded",
    "replicaStatuses": [
        {"ReplicasStates": {"Succeeded": 1}, "state": "Succeeded", "tf_replica_type": "MASTER"},
        {"ReplicasStates": {"Running": 1}, "state": "Running", "tf_replica_type": "WORKER"},
        {"ReplicasStates": {"Running": 2}, "state": "Running", "tf_replica_type": "PS"},
    ],
}
METADATA = ("creationTimestamp", "generation", "name", "namespace", "resourceVersion", "uid")
"""Beside `clusterName` and `selfLink`, which Kubernetes itself has no more."""


@pytest.fixture
def example(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cast(example: str, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[EXAMPLES[example].kind], {}, "", "")


def table(text: str) -> Iterator[dict[str, str]]:
    """The rows that kubectl prints, by their columns."""
    head, *rows = text.splitlines()
    starts = [head.index(name) for name in head.split()]
    for row in rows:
        cells = [row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        yield dict(zip(head.split(), cells, strict=True))


def kubectl(crds: Cluster, stage: Stage, *words: str) -> str:
    return crds.run(*words, "-n", stage.namespace)


async def members(stage: Stage, example: str) -> list[str]:
    """All that the job has, once it is there and runs."""
    names = [name.format(await runtime_id(stage)) for name in EXAMPLES[example].pods]
    beside = [f"tensorboard-{await runtime_id(stage)}"] if EXAMPLES[example].board else []
    await stage.until_pods_are([*names, *beside])
    for name in [*names, *beside]:
        await stage.kubelet.run(name)
    return names


@pytest.mark.parametrize(
    "example", ["tf_job.yaml", "mlkube_tf_job.yaml", "mx_job_dist.yaml", "mxnet_mlkube_mx_job_dist.yaml"],
    indirect=True,
)  # fmt: skip
async def test_a_list_of_jobs_names_their_kind_and_its_version(played: Stage, crds: Cluster) -> None:
    kind = played.cast.framework
    rows = list(table(kubectl(crds, played, "get", f"{kind.plural}.{kind.group}")))
    (row,) = (row for row in rows if row["NAME"] == played.name)
    assert (row["KIND"], row["APIVERSION"]) == (kind.kind, kind.gvk.api_version)
    assert {"STATE", "PROGRESS", "AGE"} <= row.keys()
    assert len(kubectl(crds, played, "get", f"{kind.plural}.{kind.group}").splitlines()[0]) <= 80


@pytest.mark.parametrize("example", ["tf_job_dumped.yaml"], indirect=True)
async def test_a_dumped_job_has_every_field_that_the_guide_prints(
    played: Stage, crds: Cluster, example: str
) -> None:
    master, *_ = await members(played, example)
    await played.kubelet.exit(master, 0)
    await until_done(played)
    job = json.loads(kubectl(crds, played, "get", "-o", "json", "tfjobs.tensorflow.org", played.name))
    written = json.loads(crds.run("create", "--dry-run=client", "-o", "json", "-f", str(FOLDER / example)))
    assert (job["apiVersion"], job["kind"]) == (written["apiVersion"], written["kind"])
    assert set(METADATA) <= job["metadata"].keys()
    assert missing(written["spec"], job["spec"]) == []
    assert missing(STATUS, job["status"]) == []
    assert job["status"]["conditions"]
    assert [it["IsDefaultPS"] for it in job["status"]["replicaStatuses"]] == [False, False, True]
    described = kubectl(crds, played, "describe", "tfjobs.tensorflow.org", played.name)
    assert "SuccessfulCreate" in described
    assert "kubeflow" in described


def missing(quoted: Any, found: Any, path: str = "") -> list[str]:
    """What is quoted and not found, or found otherwise."""
    if isinstance(quoted, Mapping) and isinstance(found, Mapping):
        return [
            it
            for key, value in quoted.items()
            for it in missing(value, found.get(key, f"no {key}"), f"{path}.{key}")
        ]
    if isinstance(quoted, list) and isinstance(found, list) and len(quoted) == len(found):
        pairs = enumerate(zip(quoted, found, strict=True))
        return [it for i, (value, other) in pairs for it in missing(value, other, f"{path}[{i}]")]
    return [] if quoted == found else [f"{path}: {quoted!r}, and not {found!r}"]


@pytest.mark.parametrize("example", ["tfjob_tensorboard.yaml"], indirect=True)
async def test_services_and_pods_are_listed_as_the_guide_lists_them(
    played: Stage, crds: Cluster, example: str
) -> None:
    await members(played, example)
    id_ = await runtime_id(played)
    services = {row["NAME"]: row for row in table(kubectl(crds, played, "get", "services"))}
    assert services[f"master-{id_}-0"]["PORT(S)"] == "2222/TCP"
    board = services[f"tensorboard-{id_}"]
    assert (board["TYPE"], board["EXTERNAL-IP"]) == ("LoadBalancer", "<pending>")
    assert board["PORT(S)"].startswith("80:")
    pods = {row["NAME"]: row for row in table(kubectl(crds, played, "get", "pods"))}
    assert pods[f"master-{id_}-0"].keys() == {"NAME", "READY", "STATUS", "RESTARTS", "AGE"}
    assert pods[f"master-{id_}-0"]["STATUS"] == "Running"


@pytest.mark.parametrize("example", ["mx_job_dist.yaml"], indirect=True)
async def test_what_was_a_list_of_batch_jobs_is_one_of_pods(
    played: Stage, crds: Cluster, example: str
) -> None:
    """`kubectl get job` printed NAME, DESIRED, SUCCESSFUL and AGE for each member."""
    names = await members(played, example)
    for name in reversed(names):
        await played.kubelet.exit(name, 0)
    status: Raw = await until_done(played)
    marker = f"runtime_id={await runtime_id(played)}"
    rows = list(table(kubectl(crds, played, "get", "pods", "-l", marker)))
    assert sorted(row["NAME"] for row in rows) == sorted(names)
    assert {row["STATUS"] for row in rows} == {"Completed"}
    assert [it["ReplicasStates"] for it in status["replicaStatuses"]] == [
        {"Succeeded": 1}, {"Succeeded": 2}, {"Succeeded": 3},
    ]  # fmt: skip
