"""How members end, and what that makes of the job. DECISIONS: exit codes, terminal state, sidecars, limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import PODS, Raw

SMALL = {"Chief": 1, "PS": 1}
WITH_SIDECAR = {
    "template": {
        "spec": {
            "containers": [{"name": "tensorflow", "image": "train"}, {"name": "logs", "image": "logs"}],
            "initContainers": [{"name": "proxy", "image": "proxy", "restartPolicy": "Always"}],
        }
    }
}


@pytest.fixture
def cast(known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known["TFJob"], **PARTS["TFJob"] | {"replicas": SMALL})


async def running(stage: Stage, policy: dict[str, Any] | None = None, **roles: dict[str, Any]) -> None:
    await stage.submit(policy=policy, **roles)
    await stage.run_all()
    await stage.until_state("Running")


async def passed(stage: Stage) -> None:
    """The operator has looked at the job once more, whatever it thinks of what has happened before."""
    number = (await stage.job())["metadata"]["generation"] + 1
    await stage.edit({"runPolicy": {"ttlSecondsAfterFinished": 1000 + number}})

    async def looked() -> bool:
        return bool((await stage.job())["status"]["observedGeneration"] == number)

    await stage.until(looked, "another look at the job")


# --- exit codes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [1, 127, 128, 139])
async def test_these_exit_codes_are_permanent(stage: Stage, code: int) -> None:
    await running(stage, PS={"restartPolicy": "ExitCode"})
    await stage.kubelet.exit(stage.child("PS"), code)
    job = await stage.until_state("Failed")
    assert "restartCount" not in job["status"]
    await stage.until_told(
        "ExitedWithCode", f"Pod: {stage.namespace}.{stage.child('PS')} exited with code {code}"
    )


async def test_every_other_exit_code_above_128_is_retryable(stage: Stage) -> None:
    codes = [129, 130, 137, 138, 143, 255]
    stage = stage.casting(replicas={"Chief": 1, "PS": len(codes)})
    await running(stage, PS={"replicas": len(codes), "restartPolicy": "ExitCode"})
    before = await stage.pods()
    for index, code in enumerate(codes):
        await stage.kubelet.exit(stage.child("PS", index), code)
    for name in stage.children("PS"):
        await stage.until_replaced(name, before[name]["metadata"]["uid"])
    assert (await stage.job())["status"]["restartCount"] == len(codes)


async def test_restarts_by_the_kubelet_count_towards_the_backoff_limit(stage: Stage) -> None:
    await running(stage, {"backoffLimit": 3}, PS={"restartPolicy": "OnFailure"})
    await stage.kubelet.run(stage.child("PS"), restarts=2)

    async def counted() -> bool:
        return bool((await stage.job())["status"].get("restartCount") == 2)

    await stage.until(counted, "two restarts")
    await stage.kubelet.run(stage.child("PS"), restarts=3)
    await stage.until_state("Failed")


async def test_a_backoff_limit_of_zero_fails_the_job_at_the_first_failure(stage: Stage) -> None:
    await running(stage, {"backoffLimit": 0}, PS={"restartPolicy": "ExitCode"})
    await stage.kubelet.exit(stage.child("PS"), 137)
    job = await stage.until_state("Failed")
    assert "reached the specified backoff limit" in job["status"]["conditions"][-1]["message"]


# --- the end of the job ----------------------------------------------------------------------------------------


async def test_success_of_the_deciding_role_comes_first_and_the_end_is_final(stage: Stage) -> None:
    await stage.submit(policy={"cleanPodPolicy": "None"}, PS={"restartPolicy": "Never"})
    await stage.until_pods_are(stage.children())
    await stage.exit_all("Chief")
    await stage.exit_all("PS", 1)
    first = await stage.until_state("Succeeded")
    await stage.kubelet.exit(stage.child("Chief"), 1)
    await passed(stage)
    job = await stage.job()
    assert job["status"]["conditions"] == first["status"]["conditions"]
    assert job["status"]["completionTime"] == first["status"]["completionTime"]


async def test_what_was_active_at_the_end_is_not_called_succeeded(stage: Stage) -> None:
    await running(stage, {"cleanPodPolicy": "None"})
    await stage.exit_all("Chief")
    job = await stage.until_state("Succeeded")
    roles = job["status"]["replicaStatuses"]
    assert (roles["PS"]["active"], roles["PS"].get("succeeded", 0)) == (1, 0)
    assert (roles["Chief"].get("active", 0), roles["Chief"]["succeeded"]) == (0, 1)


@pytest.mark.parametrize("policy", ["None", "Running", "All"])
@pytest.mark.parametrize("limit", ["backoffLimit", "activeDeadlineSeconds"])
async def test_at_a_limit_what_runs_goes_and_what_has_ended_stays_unless_all_goes(
    stage: Stage, limit: str, policy: str
) -> None:
    await running(stage, {"cleanPodPolicy": policy}, Chief={"restartPolicy": "OnFailure"})
    await stage.exit_all("PS")

    async def counted() -> bool:
        return bool((await stage.job())["status"]["replicaStatuses"]["PS"].get("succeeded") == 1)

    await stage.until(counted, "the end of the PS")
    await stage.edit({"runPolicy": {limit: 1}})
    if limit == "backoffLimit":
        await stage.kubelet.run(stage.child("Chief"), restarts=1)
    await stage.until_state("Failed")
    await stage.until_pods_are([] if policy == "All" else stage.children("PS"))


async def test_old_places_of_the_run_policy_are_read_and_run_policy_wins(stage: Stage) -> None:
    stage = stage.casting(fields={"cleanPodPolicy": "All", "backoffLimit": 0})
    await running(stage, {"cleanPodPolicy": "None"}, PS={"restartPolicy": "ExitCode"})
    await stage.kubelet.exit(stage.child("PS"), 137)
    await stage.until_state("Failed")  # by spec.backoffLimit
    await stage.until_pods_are(stage.children("PS"))  # All would leave nothing


async def test_an_empty_managed_by_counts_as_unset(stage: Stage) -> None:
    await running(stage, {"managedBy": ""})


# --- sidecars --------------------------------------------------------------------------------------------------


async def test_a_sidecar_neither_fails_nor_ends_a_member(stage: Stage) -> None:
    await running(stage, {"cleanPodPolicy": "None"}, Chief=WITH_SIDECAR | {"restartPolicy": "Never"})
    await stage.kubelet.exit(stage.child("Chief"), 0, sidecars=1)
    await stage.until_state("Succeeded")


async def test_the_exit_code_that_counts_is_that_of_the_frameworks_container(stage: Stage) -> None:
    await running(stage, PS=WITH_SIDECAR | {"restartPolicy": "ExitCode"})
    before = (await stage.pods())[stage.child("PS")]
    await stage.kubelet.exit(stage.child("PS"), 137, sidecars=1)
    await stage.until_replaced(stage.child("PS"), before["metadata"]["uid"])
    await stage.kubelet.exit(stage.child("PS"), 1, sidecars=137)
    await stage.until_state("Failed")


async def test_a_native_sidecar_never_decides(stage: Stage) -> None:
    """Its restarts are none of the job's, and how it ends does not matter."""
    await running(stage, {"backoffLimit": 1}, PS=WITH_SIDECAR, Chief=WITH_SIDECAR)
    restarted = _native({"running": {"startedAt": "2026-01-01T00:00:00Z"}}, restarts=5)
    await _patch(stage, "PS", restarted)
    await passed(stage)
    assert "restartCount" not in (await stage.job())["status"]
    await _patch(stage, "Chief", _native({"terminated": {"exitCode": 137}}))
    await stage.kubelet.exit(stage.child("Chief"))
    await stage.until_state("Succeeded")


def _native(state: Raw, restarts: int = 0) -> Raw:
    proxy = {"name": "proxy", "image": "i", "imageID": "i", "ready": True, "state": state}
    return {"initContainerStatuses": [proxy | {"restartCount": restarts}]}


async def _patch(stage: Stage, role: str, status: Raw) -> None:
    pod, body = stage.child(role), {"status": status}
    await stage.api.patch(PODS, stage.namespace, pod, body, dict, subresource="status")


# --- pods that the cluster takes ---------------------------------------------------------------------------------


async def test_an_evicted_pod_fails_the_job_under_never(stage: Stage) -> None:
    await running(stage, PS={"restartPolicy": "Never"})
    await stage.kubelet.evict(stage.child("PS"))
    await stage.until_state("Failed")


@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
@pytest.mark.parametrize("stage_name", [pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True)
async def test_a_pod_being_deleted_is_no_failure_and_is_replaced_when_it_is_gone(
    stage: Stage, policy: str
) -> None:
    await running(stage, PS={"restartPolicy": policy})
    name = stage.child("PS")
    going = (await stage.pods())[name]
    await _hold(stage, name, "example.com/still-stopping")
    await stage.api.delete(PODS, stage.namespace, name, going["metadata"]["uid"])
    await stage.kubelet.exit(name, 143)  # what a kubelet shows before the pod is gone
    await passed(stage)
    pod = (await stage.pods())[name]
    assert (pod["metadata"]["uid"], pod["status"]["phase"]) == (going["metadata"]["uid"], "Failed")
    await _hold(stage, name, None)
    await stage.until_replaced(name, going["metadata"]["uid"])
    job = await stage.job()
    assert "restartCount" not in job["status"]
    assert job["status"]["conditions"][-1]["type"] != "Failed"


async def _hold(stage: Stage, pod: str, finalizer: str | None) -> None:
    finalizers = {"metadata": {"finalizers": [finalizer] if finalizer else None}}
    await stage.api.patch(PODS, stage.namespace, pod, finalizers, dict)


async def test_a_resumed_job_has_forgotten_who_succeeded_and_how_often_it_was_restarted(stage: Stage) -> None:
    await running(stage, PS={"restartPolicy": "ExitCode"})
    pod = (await stage.pods())[stage.child("PS")]
    await stage.kubelet.exit(stage.child("PS"), 137)
    await stage.until_replaced(stage.child("PS"), pod["metadata"]["uid"])
    await stage.kubelet.exit(stage.child("PS"))

    async def recorded() -> bool:
        return bool((await stage.job())["status"]["replicaStatuses"]["PS"].get("succeededIndexes") == "0")

    await stage.until(recorded, "the success of PS 0")
    before = await stage.job()
    await stage.edit({"runPolicy": {"suspend": True}})
    await stage.until_state("Suspended")
    await stage.until_pods_are([])
    await stage.edit({"runPolicy": {"suspend": False}})
    await stage.run_all()
    job = await stage.until_state("Running")
    assert "restartCount" not in job["status"]
    assert job["status"]["startTime"] >= before["status"]["startTime"]
