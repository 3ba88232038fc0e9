"""From YAML to the end, for every framework, on both stages (see conftest.py beside this file)."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.scenarios.stage import Stage
from trainop.kube.port import PODS, SERVICES, Raw


def conditions(job: Raw) -> dict[str, str]:
    return {c["type"]: c["status"] for c in job["status"]["conditions"]}


async def test_a_job_goes_from_yaml_to_succeeded(stage: Stage) -> None:
    await stage.submit()
    await stage.until_pods_are(stage.children())
    await stage.until_services_are(stage.children())
    await stage.run_all()
    job = await stage.until_state("Running")
    assert job["status"]["startTime"]

    await stage.exit_all(stage.cast.decider)
    job = await stage.until_state("Succeeded")
    assert conditions(job) == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert job["status"]["lastReconcileTime"] >= job["status"]["completionTime"]
    assert job["status"]["replicaStatuses"][stage.cast.decider]["succeeded"] == len(
        stage.children(stage.cast.decider)
    )


async def test_what_still_runs_is_removed_with_its_service_and_what_has_ended_is_kept(stage: Stage) -> None:
    """DECISIONS: cleanPodPolicy is Running by default."""
    await stage.submit()
    await stage.run_all()
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")
    await stage.until_pods_are(stage.children(stage.cast.decider))
    await stage.until_services_are(stage.children(stage.cast.decider))


async def test_clean_pod_policy_none_keeps_all_and_all_keeps_nothing(stage: Stage) -> None:
    await stage.submit(policy={"cleanPodPolicy": "None"})
    await stage.run_all()
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")
    assert sorted(await stage.pods()) == stage.children()
    await stage.edit({"runPolicy": {"cleanPodPolicy": "All"}})
    await stage.until_pods_are([])
    await stage.until_services_are([])


async def test_a_permanent_exit_code_fails_the_job(stage: Stage) -> None:
    await stage.submit(**{stage.cast.server: {"restartPolicy": "ExitCode"}})
    await stage.run_all()
    await stage.until_state("Running")
    await stage.kubelet.exit(stage.child(stage.cast.server), 1)
    job = await stage.until_state("Failed")
    assert conditions(job) == {"Created": "True", "Running": "False", "Failed": "True"}
    message = f'job "{stage.name}" is failing because "{stage.cast.server}" replica(s) failed.'
    assert job["status"]["conditions"][-1]["message"] == message


async def test_a_retryable_exit_code_brings_a_new_pod_of_the_same_name(stage: Stage) -> None:
    await stage.submit(**{stage.cast.server: {"restartPolicy": "ExitCode"}})
    await stage.run_all()
    await stage.until_state("Running")
    name = stage.child(stage.cast.server)
    first = (await stage.pods())[name]["metadata"]["uid"]

    await stage.kubelet.exit(name, 137)

    async def replaced() -> bool:
        pod = (await stage.pods()).get(name)
        return pod is not None and pod["metadata"]["uid"] != first

    await stage.until(replaced, f"a new {name}")
    await stage.kubelet.run(name)
    job = await stage.until_state("Running")
    assert job["status"]["restartCount"] == 1
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")


async def test_the_job_fails_when_its_restarts_reach_the_backoff_limit(stage: Stage) -> None:
    await stage.submit(policy={"backoffLimit": 1}, **{stage.cast.server: {"restartPolicy": "ExitCode"}})
    await stage.run_all()
    await stage.until_state("Running")
    await stage.kubelet.exit(stage.child(stage.cast.server), 143)
    job = await stage.until_state("Failed")
    message = f"Job {stage.name} has failed because it has reached the specified backoff limit"
    assert job["status"]["conditions"][-1]["message"] == message


async def test_an_evicted_pod_is_replaced_and_not_counted(stage: Stage) -> None:
    await stage.submit(**{stage.cast.server: {"restartPolicy": "OnFailure"}})
    await stage.run_all()
    await stage.until_state("Running")
    name = stage.child(stage.cast.server)
    first = (await stage.pods())[name]["metadata"]["uid"]
    await stage.kubelet.evict(name)

    async def replaced() -> bool:
        pod = (await stage.pods()).get(name)
        return pod is not None and pod["metadata"]["uid"] != first

    await stage.until(replaced, f"a new {name}")
    assert "restartCount" not in (await stage.job())["status"]


async def test_a_member_that_succeeded_is_not_run_again_when_its_pod_is_deleted(stage: Stage) -> None:
    await stage.submit(policy={"cleanPodPolicy": "None"})
    await stage.run_all()
    await stage.until_state("Running")
    done = stage.child(stage.cast.server)
    await stage.kubelet.exit(done)

    async def recorded() -> bool:
        role = (await stage.job())["status"]["replicaStatuses"][stage.cast.server]
        return bool(role.get("succeededIndexes") == "0")

    await stage.until(recorded, f"{done} on record as succeeded")
    uid = (await stage.pods())[done]["metadata"]["uid"]
    await stage.api.delete(PODS, stage.namespace, done, uid)
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")
    assert done not in await stage.pods()


async def test_a_pod_deleted_by_hand_comes_back(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    name = stage.child(stage.cast.decider)
    first = (await stage.pods())[name]["metadata"]["uid"]
    await stage.api.delete(PODS, stage.namespace, name, first)

    async def replaced() -> bool:
        pod = (await stage.pods()).get(name)
        return pod is not None and pod["metadata"]["uid"] != first

    await stage.until(replaced, f"a new {name}")


async def test_a_suspended_job_has_no_pods_and_a_resumed_one_starts_anew(stage: Stage) -> None:
    await stage.submit(policy={"suspend": True})
    job = await stage.until_state("Suspended")
    assert "startTime" not in job["status"]
    assert await stage.pods() == {}
    await stage.edit({"runPolicy": {"suspend": False}})
    await stage.run_all()
    await stage.until_state("Running")
    await stage.edit({"runPolicy": {"suspend": True}})
    job = await stage.until_state("Suspended")
    assert conditions(job) == {"Created": "True", "Running": "False", "Suspended": "True"}
    await stage.until_pods_are([])
    await stage.until_services_are([])


async def test_deleting_a_job_removes_its_pods_and_services(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    await stage.delete()
    await stage.until_pods_are([])
    await stage.until_services_are([])


async def test_a_job_past_its_active_deadline_fails_without_any_event_to_wake_it(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    job = await stage.until_state("Running")
    # Set only now, so that a slow machine has all pods running by then.
    active = datetime.now(UTC) - datetime.fromisoformat(job["status"]["startTime"])
    await stage.edit({"runPolicy": {"activeDeadlineSeconds": int(active.total_seconds()) + 2}})
    job = await stage.until_state("Failed")
    message = f"Job {stage.name} has failed because it was active longer than specified deadline"
    assert job["status"]["conditions"][-1]["message"] == message
    await stage.until_pods_are([])


async def test_a_finished_job_is_deleted_when_its_time_to_live_is_over(stage: Stage) -> None:
    # None: whether there is still time to clean up before depends on where in a second the job ends.
    await stage.submit(policy={"ttlSecondsAfterFinished": 1, "cleanPodPolicy": "None"})
    await stage.run_all()
    await stage.exit_all(stage.cast.decider)

    async def gone() -> bool:
        found = await stage.api.list(stage.jobs, dict, namespace=stage.namespace)
        return stage.name not in {job["metadata"]["name"] for job in found.items}

    await stage.until(gone, "the job to be deleted")
    await stage.until_pods_are([])


async def test_that_a_job_was_deleted_is_told(stage: Stage) -> None:
    await stage.submit(policy={"ttlSecondsAfterFinished": 0})
    await stage.run_all()
    await stage.exit_all(stage.cast.decider)
    await stage.until_told("SuccessfulDeleteJob", f"Deleted job: {stage.name}")


async def test_someone_elses_job_is_not_touched(stage: Stage) -> None:
    await stage.submit(policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    # Another job, submitted later and served, shows that the operator has been past the first one.
    witness = Stage(stage.api, stage.namespace, stage.cast, f"{stage.name}-w")
    await witness.submit()
    await witness.run_all()
    await witness.until_state("Running")
    assert "status" not in await stage.job()
    assert await stage.pods() == {}


async def test_users_are_told_what_happened(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")

    await stage.until_told("SuccessfulCreatePod", f"Created pod: {stage.child(stage.cast.decider)}")

    async def told() -> bool:
        reasons = {reason for reason, _ in await stage.events()}
        return {"SuccessfulCreateService", f"{stage.cast.kind}Succeeded"} <= reasons

    await stage.until(told, "events")


async def test_a_name_taken_by_something_else_is_told_and_mended_by_removing_it(stage: Stage) -> None:
    taken = stage.child(stage.cast.server)
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": taken, "labels": {}},
        "spec": {"ports": [{"port": 80}]},
    }
    theirs: Raw = await stage.api.create(SERVICES, stage.namespace, foreign, dict)
    await stage.submit()
    job = await stage.until_state("Blocked")
    blocked = job["status"]["conditions"][-1]
    assert (blocked["status"], blocked["reason"]) == ("True", "NameConflict")
    assert f"service {taken}" in blocked["message"]
    found: Raw = await stage.api.get(SERVICES, stage.namespace, taken, dict)
    assert found["metadata"]["uid"] == theirs["metadata"]["uid"]

    await stage.until_told("FailedCreateService", f"Error creating: {blocked['message']}")

    await stage.api.delete(SERVICES, stage.namespace, taken, theirs["metadata"]["uid"])
    await stage.run_all()
    job = await stage.until_state("Running")
    assert conditions(job) == {"Blocked": "False", "Created": "True", "Running": "True"}


async def test_scaling_down_removes_surplus_members_and_scaling_up_adds_them(stage: Stage) -> None:
    role = next(role for role, count in stage.cast.replicas.items() if count == 2)
    field = stage.cast.framework.replicas_field
    await stage.submit()
    await stage.run_all()
    await stage.edit({field: {role: {"replicas": 1}}})
    fewer = [name for name in stage.children() if name != stage.child(role, 1)]
    await stage.until_pods_are(fewer)
    await stage.until_services_are(fewer)
    await stage.edit({field: {role: {"replicas": 3}}})
    more = sorted([*stage.children(), stage.child(role, 2)])
    await stage.until_pods_are(more)
    await stage.until_services_are(more)
