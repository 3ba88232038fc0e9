"""What keeps a job from starting on a real cluster: trainop explains it, and once it is mended the job runs."""

from __future__ import annotations

from tests.e2e.user import IMAGE, LITTLE, User, job

ABSENT = "trainop-examples/absent:1"
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "small"},
    "spec": {"hard": {"pods": "1"}},
}


def ends_well(user: User, name: str, *workers: str) -> None:
    for worker in workers:
        user.until_runs(worker)
    user.order(workers[0], 0)
    user.until_is(name, "Succeeded")


def test_an_image_that_is_not_there_is_named_and_the_mended_job_runs(user: User) -> None:
    user.apply(job("absent", image=ABSENT))
    user.until_explained("absent", f"the image {ABSENT} of worker-0 cannot be pulled")
    user.apply(job("absent", image=IMAGE))
    ends_well(user, "absent", "absent-worker-0")


def test_a_request_that_no_node_can_meet_is_named_and_the_mended_job_runs(user: User) -> None:
    user.apply(job("greedy", resources={"requests": {"cpu": "1000"}, "limits": {"cpu": "1000"}}))
    user.until_explained("greedy", "no node takes worker-0: there is not enough cpu")
    user.apply(job("greedy", resources=LITTLE))
    ends_well(user, "greedy", "greedy-worker-0")


def test_a_quota_is_named_and_a_larger_one_lets_the_job_run(user: User) -> None:
    user.apply(QUOTA)
    user.until(
        "the quota counts", lambda: (user.get("resourcequota", "small") or {}).get("status", {}).get("hard")
    )
    user.apply(job("crowd", workers=2))
    user.until_explained("crowd", "quota small: pods 1 of 1 used")
    user.kubectl("patch", "resourcequota", "small", "--type=merge", "-p", '{"spec": {"hard": {"pods": "5"}}}')
    ends_well(user, "crowd", "crowd-worker-0", "crowd-worker-1")
