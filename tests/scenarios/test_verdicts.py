"""Whose end is the job's. kubeflow-v1 §5.8, §5.9; DECISIONS: terminal state, MXJob success."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework

ALL_WORKERS = {"successPolicy": "AllWorkers"}
DYNAMIC = {"enableDynamicWorker": True}
TRAIN, TUNE = {"jobMode": "MXTrain"}, {"jobMode": "MXTune"}

# Kind, replicas, fields of the spec; then who ends with which code, in turn; then what that makes of the job.
LIVES: dict[str, tuple[str, dict[str, int], dict[str, Any], dict[str, int], str]] = {
    "the chief decides, whatever the others do": (
        "TFJob", {"Chief": 1, "PS": 1, "Worker": 1, "Evaluator": 1}, {}, {"chief-0": 0}, "Succeeded",
    ),
    "a master is a chief": ("TFJob", {"Master": 1, "Worker": 1}, {}, {"master-0": 0}, "Succeeded"),
    "workers alone do not end a job with a chief": (
        "TFJob", {"Chief": 1, "Worker": 2}, {}, {"worker-0": 0, "worker-1": 0}, "Running",
    ),
    "neither ps nor evaluator ends a job": (
        "TFJob", {"PS": 1, "Worker": 1, "Evaluator": 1}, {}, {"ps-0": 0, "evaluator-0": 0}, "Running",
    ),
    "a ps that fails for good fails the job": (
        "TFJob", {"Chief": 1, "PS": 1}, {}, {"ps-0": 1}, "Failed",
    ),
    "an evaluator that fails for good fails the job": (
        "TFJob", {"Chief": 1, "Evaluator": 1}, {}, {"evaluator-0": 1}, "Failed",
    ),
    "without a chief worker 0 decides": (
        "TFJob", {"PS": 1, "Worker": 2}, {}, {"worker-0": 0}, "Succeeded",
    ),
    "without a chief another worker does not": (
        "TFJob", {"PS": 1, "Worker": 2}, {}, {"worker-1": 0}, "Running",
    ),
    "all workers are needed where the policy says so": (
        "TFJob", {"Worker": 2}, ALL_WORKERS, {"worker-0": 0}, "Running",
    ),
    "all workers are enough where the policy says so": (
        "TFJob", {"PS": 1, "Worker": 2}, ALL_WORKERS, {"worker-1": 0, "worker-0": 0}, "Succeeded",
    ),
    "a dynamic worker may fail alone": (
        "TFJob", {"PS": 1, "Worker": 2}, DYNAMIC, {"worker-1": 1}, "Running",
    ),
    "the scheduler decides": (
        "MXJob", {"Scheduler": 1, "Server": 1, "Worker": 2}, TRAIN, {"scheduler-0": 0}, "Succeeded",
    ),
    "workers alone do not end a job with a scheduler": (
        "MXJob", {"Scheduler": 1, "Worker": 1}, TRAIN, {"worker-0": 0}, "Running",
    ),
    "a scheduler that ends well does not hide a failed worker": (
        "MXJob", {"Scheduler": 1, "Worker": 1}, TRAIN, {"worker-0": 1, "scheduler-0": 0}, "Failed",
    ),
    "without a scheduler all workers decide": (
        "MXJob", {"Worker": 2}, TRAIN, {"worker-0": 0, "worker-1": 0}, "Succeeded",
    ),
    "without a scheduler one worker does not": ("MXJob", {"Worker": 2}, TRAIN, {"worker-0": 0}, "Running"),
    "in a tuning run the tuner decides": (
        "MXJob", {"TunerTracker": 1, "TunerServer": 1, "Tuner": 1}, TUNE, {"tuner-0": 0}, "Succeeded",
    ),
    "a tuner that fails for good fails the run": (
        "MXJob", {"TunerTracker": 1, "TunerServer": 1, "Tuner": 1}, TUNE, {"tuner-0": 2}, "Failed",
    ),
}  # fmt: skip


@pytest.fixture(params=LIVES)
def life(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cast(life: str, known: dict[str, Framework[Any]]) -> Cast:
    kind, replicas, fields, _, _ = LIVES[life]
    return Cast(known[kind], **PARTS[kind] | {"replicas": replicas, "fields": fields})


async def test_whose_end_is_the_jobs(stage: Stage, life: str) -> None:
    *_, ends, state = LIVES[life]
    await stage.submit(policy={"cleanPodPolicy": "None"})  # what comes after the end may still come
    await stage.run_all()
    await stage.until_state("Running")
    for member, code in ends.items():
        await stage.kubelet.exit(f"{stage.name}-{member}", code)
    if state == "Running":
        # What was seen of those that have ended is counted, and changes nothing.
        async def counted() -> bool:
            roles = (await stage.job())["status"]["replicaStatuses"].values()
            return bool(sum(r.get("succeeded", 0) + r.get("failed", 0) for r in roles) == len(ends))

        await stage.until(counted, "all ends counted")
    job = await stage.until_state(state)
    true = {c["type"] for c in job["status"]["conditions"] if c["status"] == "True"}
    assert true == {"Created", state}
