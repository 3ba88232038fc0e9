"""The jobs in examples/legacy: what becomes of each, and what is waited for when one is played."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.scenarios.stage import Stage
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
    "mx_job_gpu.yaml": Expected(MX, ["tf-smoke-gpu-worker-{}-0"], told=SNAKE),
    "mx_job_dist.yaml": Expected(MX, SIX),
    "mxnet_mlkube_mx_job_dist.yaml": Expected(LATER, SIX),
}


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
