"""Jobs that the v1 training operator v1.8.1 has begun: trainop goes on with them and with the very same pods.

Each story yields where the old operator is stopped; in the meantime trainop's CRDs are installed and it is started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import pytest

from tests.takeover.story import Inherited, Stories, Telling
from trainop.engine import pods
from trainop.engine.topology import topology
from trainop.kube.port import Raw
from trainop.parse import parse

STORIES = Stories()
pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


@STORIES.about("TFJob", "TFJob without a chief", "TFJob in lower case", "MXJob", "PyTorchJob", "XGBoostJob")
async def a_running_job_goes_on(job: Inherited) -> AsyncIterator[None]:
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    yield
    await job.until_taken_over()
    everyone = len(job.children())
    await job.until_status("progress", f"{everyone}/{everyone}")
    await job.finish()


@STORIES.about(
    "TFJob",
    "MXJob",
    "PyTorchJob",
    "PyTorchJob without a master",
    "PyTorchJob of elastic workers",
    "XGBoostJob",
)
async def members_are_told_what_the_old_operator_tells_them(job: Inherited) -> AsyncIterator[None]:
    await job.submit()
    await job.run_all()
    told = environments((await job.pods()).values())
    yield
    framework, read = job.cast.framework, parse(job.cast.framework, await job.job())
    members = topology(framework, read)
    tell = framework.bootstrap(read, members)
    assert told == environments(pods.manifest(framework, read, me, tell(me)) for me in members)


@STORIES.about("TFJob", "MXJob")
async def pods_that_have_not_started_are_waited_for(job: Inherited) -> AsyncIterator[None]:
    await job.submit()
    await job.run_all(job.cast.server)
    await job.until_state("Created")
    await job.until_pods_are(job.children())
    await job.until_services_are(job.children())
    yield
    await job.until_taken_over()
    await job.run_all()
    await job.finish()


@STORIES.about("TFJob", "TFJob without a chief", "MXJob")
async def a_member_that_has_succeeded_never_runs_again(job: Inherited) -> AsyncIterator[None]:
    done = job.child("Worker", 1)
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    await job.kubelet.exit(done)
    await job.until_counted("Worker", succeeded=1)
    yield
    status = await job.until_taken_over()
    assert status["replicaStatuses"]["Worker"]["succeededIndexes"] == "1"
    await job.delete_pod(done)
    await job.succeed()
    await job.until_state("Succeeded")
    assert done not in await job.pods()


@STORIES.about("TFJob", "MXJob")
async def a_restarting_job_runs_again_with_the_pod_that_the_old_operator_made(
    job: Inherited,
) -> AsyncIterator[None]:
    name = job.child(job.cast.decider)
    await job.submit(**{job.cast.decider: {"restartPolicy": "ExitCode"}})
    await job.run_all()
    await job.until_state("Running")
    first = (await job.pods())[name]["metadata"]["uid"]
    await job.kubelet.exit(name, 137)
    await job.until_replaced(name, first)
    await job.until_state("Restarting")
    yield
    await job.until_taken_over()
    await job.kubelet.run(name)
    await job.finish()


@STORIES.about("TFJob", "MXJob")
async def a_pod_that_the_old_operator_was_replacing_is_replaced_when_it_is_gone(
    job: Inherited,
) -> AsyncIterator[None]:
    name = job.child(job.cast.decider)
    await job.submit(**{job.cast.decider: {"restartPolicy": "ExitCode"}})
    await job.run_all()
    await job.until_state("Running")
    await job.hold(name)
    await job.kubelet.exit(name, 137)
    await job.until_state("Restarting")
    yield
    await job.until_taken_over()
    await job.let_go(name)
    await job.until_replaced(name, job.left_uid(name))
    await job.kubelet.run(name)
    await job.finish(new=[f"pod {name}"])


@STORIES.about("TFJob", "MXJob", gap=True)
async def a_pod_that_fails_while_nobody_looks_is_counted_and_replaced(job: Inherited) -> AsyncIterator[None]:
    name = job.child(job.cast.server)
    await job.submit(**{job.cast.server: {"restartPolicy": "ExitCode"}})
    await job.run_all()
    await job.until_state("Running")
    yield
    await job.kubelet.exit(name, 143)
    yield
    await job.until_replaced(name, job.left_uid(name))
    await job.kubelet.run(name)
    ended = await job.finish(new=[f"pod {name}"])
    assert ended["status"]["restartCount"] == 1


@STORIES.about("TFJob", "MXJob", gap=True)
async def a_job_that_ends_while_nobody_looks_has_succeeded(job: Inherited) -> AsyncIterator[None]:
    await job.submit(policy={"cleanPodPolicy": "None"})
    await job.run_all()
    await job.until_state("Running")
    yield
    await job.succeed()
    yield
    await job.until_state("Succeeded")
    await job.until_pods_are(job.children())


@STORIES.about("TFJob", "MXJob")
async def a_suspended_job_stays_suspended_until_it_is_resumed(job: Inherited) -> AsyncIterator[None]:
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    await job.edit({"runPolicy": {"suspend": True}})
    await job.until_state("Suspended")
    await job.until_pods_are([])
    await job.until_services_are([])
    yield
    await job.until_taken_over()
    await job.edit({"runPolicy": {"suspend": False}})
    await job.run_all()
    await job.until_state("Running")
    await job.succeed()
    assert conditions(await job.until_state("Succeeded")) == {
        "Created": "True",
        "Suspended": "False",
        "Running": "False",
        "Succeeded": "True",
    }


@STORIES.about("TFJob", "MXJob")
async def a_job_that_was_created_suspended_starts_when_it_is_resumed(job: Inherited) -> AsyncIterator[None]:
    await job.submit(policy={"suspend": True})
    await job.until_state("Suspended")
    yield
    await job.until_taken_over()
    await job.edit({"runPolicy": {"suspend": False}})
    await job.run_all()
    assert (await job.until_state("Running"))["status"]["startTime"]


@STORIES.about("TFJob", "MXJob")
async def what_has_ended_and_is_to_be_kept_is_not_touched(job: Inherited) -> AsyncIterator[None]:
    await job.submit(policy={"cleanPodPolicy": "None"})
    await job.run_all()
    await job.until_state("Running")
    await job.succeed()
    await job.until_state("Succeeded")
    yield
    await job.assert_untouched()


@STORIES.about("TFJob", "MXJob")
async def what_still_runs_of_a_succeeded_job_is_freed_unless_its_policy_says_otherwise(
    job: Inherited,
) -> AsyncIterator[None]:
    """The old operator kept it by default."""
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    await job.succeed()
    await job.until_state("Succeeded")
    await job.until_pods_are(job.children())
    yield
    kept = job.child(job.cast.decider)
    await job.until_pods_are([kept])
    await job.until_services_are([kept])
    assert (await job.pods())[kept]["metadata"]["uid"] == job.left_uid(kept)


@STORIES.about("TFJob", "MXJob")
async def a_failed_job_stays_failed(job: Inherited) -> AsyncIterator[None]:
    await job.submit(policy={"cleanPodPolicy": "None"})
    await job.run_all()
    await job.until_state("Running")
    await job.kubelet.exit(job.child(job.cast.server), 1)
    await job.until_state("Failed")
    yield
    await job.assert_untouched()


@STORIES.about("MXJob")
async def a_failed_job_whose_end_the_old_operator_did_not_date_is_deleted_in_time(
    job: Inherited,
) -> AsyncIterator[None]:
    await job.submit(
        policy={"ttlSecondsAfterFinished": 1}, **{job.cast.server: {"restartPolicy": "ExitCode"}}
    )
    await job.run_all()
    await job.until_state("Running")
    await job.kubelet.exit(job.child(job.cast.server), 1)
    ended = await job.until_state("Failed")
    assert "completionTime" not in ended["status"]
    yield
    await job.until_gone()


@STORIES.about("TFJob", "MXJob")
async def time_to_live_counts_from_the_end_that_the_old_operator_saw(job: Inherited) -> AsyncIterator[None]:
    await job.submit(policy={"ttlSecondsAfterFinished": 3600, "cleanPodPolicy": "None"})
    await job.run_all()
    await job.until_state("Running")
    await job.succeed()
    await job.until_state("Succeeded")
    yield
    await job.assert_untouched()
    await job.edit({"runPolicy": {"ttlSecondsAfterFinished": 1}})
    await job.until_gone()


@STORIES.about("TFJob", "MXJob")
async def the_active_deadline_counts_from_the_start_that_the_old_operator_saw(
    job: Inherited,
) -> AsyncIterator[None]:
    await job.submit(policy={"activeDeadlineSeconds": 3600})
    await job.run_all()
    await job.until_state("Running")
    yield
    await job.until_taken_over()
    await job.edit({"runPolicy": {"activeDeadlineSeconds": 1}})
    ended = await job.until_state("Failed")
    assert "longer than specified deadline" in ended["status"]["conditions"][-1]["message"]
    await job.until_pods_are([])


@STORIES.about("TFJob", "MXJob")
async def restarts_before_the_hand_over_count_towards_the_backoff_limit(
    job: Inherited,
) -> AsyncIterator[None]:
    server = job.child(job.cast.server)
    await job.submit(policy={"backoffLimit": 3}, **{job.cast.server: {"restartPolicy": "OnFailure"}})
    await job.run_all()
    await job.kubelet.run(server, restarts=1)
    await job.until_state("Running")
    yield
    status = await job.until_taken_over()
    assert status["restartCount"] == 1
    await job.kubelet.run(server, restarts=2)
    await job.until_status("restartCount", 2)
    await job.kubelet.run(server, restarts=3)
    ended = await job.until_state("Failed")
    assert "backoff limit" in ended["status"]["conditions"][-1]["message"]


@STORIES.about("TFJob", "MXJob")
async def a_running_job_can_be_made_larger(job: Inherited) -> AsyncIterator[None]:
    await job.submit()
    await job.run_all()
    await job.until_state("Running")
    yield
    await job.until_taken_over()
    more = job.child("Worker", 2)
    await job.edit({job.cast.framework.replicas_field: {"Worker": {"replicas": 3}}})
    await job.until_pods_are([*job.children(), more])
    await job.until_services_are([*job.children(), more])
    await job.finish(new=[f"pod {more}", f"service {more}"])


@pytest.mark.parametrize("story", STORIES.ids)
async def test_trainop_goes_on_where_the_old_operator_stopped(
    story: str, tellings: dict[str, Telling]
) -> None:
    await tellings[story].end()


def environments(made: Iterable[Raw]) -> dict[str, dict[str, str]]:
    """Of the first container, by the name of the pod."""
    return {
        pod["metadata"]["name"]: {it["name"]: it["value"] for it in pod["spec"]["containers"][0]["env"]}
        for pod in made
    }


def conditions(job: Raw) -> dict[str, str]:
    return {c["type"]: c["status"] for c in job["status"]["conditions"]}
