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


def explained(user: User, name: str, *words: str) -> None:
    """Wait until trainop says so: the kubelet and the scheduler take their time."""
    said = ""

    def told() -> bool:
        nonlocal said
        said = user.explained(name)
        return all(word in said for word in words)

    try:
        user.until(f"{words} are told", told)
    except TimeoutError as error:
        raise AssertionError(f"{error}; it says:\n{said}") from error


def ends_well(user: User, name: str, *workers: str) -> None:
    for worker in workers:
        user.until_runs(worker)
    user.order(workers[0], 0)
    user.until_is(name, "Succeeded")


def test_an_image_that_is_not_there_is_named_and_the_mended_job_runs(user: User) -> None:
    user.apply(job("absent", image=ABSENT))
    explained(user, "absent", ABSENT, "cannot be pulled")
    user.apply(job("absent", image=IMAGE))
    user.kubectl("delete", "pod", "absent-worker-0")
    ends_well(user, "absent", "absent-worker-0")


def test_a_request_that_no_node_can_meet_is_named_and_the_mended_job_runs(user: User) -> None:
    user.apply(job("greedy", resources={"requests": {"cpu": "1000"}, "limits": {"cpu": "1000"}}))
    explained(user, "greedy", "greedy-worker-0", "cpu")
    user.apply(job("greedy", resources=LITTLE))
    user.kubectl("delete", "pod", "greedy-worker-0")
    ends_well(user, "greedy", "greedy-worker-0")


def test_a_quota_is_named_and_a_larger_one_lets_the_job_run(user: User) -> None:
    user.apply(QUOTA)
    user.until(
        "the quota counts", lambda: (user.get("resourcequota", "small") or {}).get("status", {}).get("hard")
    )
    user.apply(job("crowd", workers=2))
    explained(user, "crowd", "quota small", "pods")
    user.kubectl("patch", "resourcequota", "small", "--type=merge", "-p", '{"spec": {"hard": {"pods": "5"}}}')
    ends_well(user, "crowd", "crowd-worker-0", "crowd-worker-1")
