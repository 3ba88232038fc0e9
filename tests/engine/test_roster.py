"""Each member with its state, and children that belong to no member any more. SECURITY: identity is the name."""

from typing import Any

import pytest

from tests.builders import TF, a_job, a_pod, a_roster, a_service, a_status, a_world
from trainop.engine import roster
from trainop.engine.roster import Roster, State
from trainop.model import Complaint, Job, SeenPod, SeenService
from trainop.template import fingerprint


def call(job: Job[Any], *children: SeenPod | SeenService) -> Roster:
    return a_roster(TF, job, a_world(*children))


STUCK: dict[str, Any] = {"phase": "Pending", "complaints": (Complaint("ErrImagePull", "no such image"),)}
OWN = fingerprint(a_job(TF, Worker=1, restart="ExitCode").replicas["Worker"].template)


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        (None, State.MISSING),
        (a_pod("Worker", 0, "Pending"), State.WAITING),
        (a_pod("Worker", 0, "Unknown"), State.WAITING),
        (a_pod("Worker", 0, "Running"), State.ACTIVE),
        (a_pod("Worker", 0, "Succeeded", code=0), State.SUCCEEDED),
        (a_pod("Worker", 0, "Failed", code=1), State.FAILED),
        (a_pod("Worker", 0, "Failed", code=137), State.RETRY),
        (a_pod("Worker", 0, "Failed", reason="Evicted"), State.LOST),
        # One that cannot start is made anew if it is known to be of another template, and one that runs never is.
        (a_pod("Worker", 0, **STUCK), State.WAITING),
        (a_pod("Worker", 0, **STUCK, template=OWN), State.WAITING),
        (a_pod("Worker", 0, **STUCK, template="another"), State.OUTDATED),
        (a_pod("Worker", 0, "Pending", template="another"), State.WAITING),
        (a_pod("Worker", 0, "Running", template="another"), State.ACTIVE),
        # DECISIONS "pod being deleted": going, whatever phase it passes through.
        (a_pod("Worker", 0, "Running", deleting=True), State.GOING),
        (a_pod("Worker", 0, "Failed", code=1, deleting=True), State.GOING),
        (a_pod("Worker", 0, "Failed", code=143, deleting=True), State.GOING),
        (a_pod("Worker", 0, "Succeeded", code=0, deleting=True), State.GOING),
        # A running pod with the sign of a coming disruption runs until it ends.
        (a_pod("Worker", 0, "Running", disrupted=True), State.ACTIVE),
    ],
)
def test_the_state_of_a_member(pod: SeenPod | None, state: State) -> None:
    job = a_job(TF, Worker=1, restart="ExitCode")
    (place,) = call(job, *([pod] if pod else [])).places
    assert place.state is state


@pytest.mark.parametrize(
    "pod", [None, a_pod("Worker", 1, "Failed", code=1), a_pod("Worker", 1, deleting=True)]
)
def test_a_member_on_record_as_succeeded_stays_so(pod: SeenPod | None) -> None:
    """DECISIONS "succeeded members"."""
    status = a_status(replica_statuses={"Worker": {"succeeded_indexes": "1"}})
    places = call(a_job(TF, Worker=2, status=status), *([pod] if pod else [])).places
    assert [place.state for place in places] == [State.MISSING, State.SUCCEEDED]


def test_a_pod_is_a_members_by_its_name_whatever_its_labels_say() -> None:
    """kubeflow-v1 T42: a changed label blocks nothing."""
    (place,) = call(a_job(TF, Worker=1), a_pod("Worker", 0, index_label="7", role_label="ps")).places
    assert place.state is State.ACTIVE


def test_children_beyond_the_replicas_are_surplus() -> None:
    job = a_job(TF, Worker=1)
    pods = (a_pod("Worker", 0), a_pod("Worker", 1), a_pod("Worker", 12, deleting=True), a_pod("PS", 0))
    found = call(job, *pods, a_service("Worker", 1), a_service("Worker", 3))
    assert {place.member.name: place.state for place in found.surplus} == {
        "mnist-ps-0": State.WAITING,
        "mnist-worker-1": State.WAITING,
        "mnist-worker-12": State.GOING,
        "mnist-worker-3": State.MISSING,
    }


@pytest.mark.parametrize("label", ["-1", "1000000000", "1e3", "", "x", "5 ", "\u0665", "6", "9" * 40])
def test_strangers_with_odd_labels_are_nobodys(label: str) -> None:
    """RELIABILITY M, kubeflow-v1 T43."""
    odd = a_pod("Worker", 5, index_label=label)
    found = call(a_job(TF, Worker=1), odd, a_pod("Worker", 5, name="other", uid="2"))
    assert found.surplus == ()


def test_a_child_of_a_role_nobody_knows_is_nobodys() -> None:
    assert call(a_job(TF, Worker=1), a_pod("Cook", 0), a_service("Cook", 0)).surplus == ()


def test_the_tally_counts_by_role_and_names_who_decides() -> None:
    job = a_job(TF, PS=1, Worker=4)
    found = call(
        job,
        a_pod("PS", 0),
        a_pod("Worker", 0),
        a_pod("Worker", 1, "Succeeded"),
        a_pod("Worker", 2, "Failed", code=1),
        a_pod("Worker", 3, "Pending"),
    )
    tally = roster.tally(TF, job, found)
    worker = tally.roles["Worker"]
    assert (worker.replicas, worker.active, worker.succeeded, worker.failed) == (
        4,
        1,
        frozenset({1}),
        frozenset({2}),
    )
    assert list(tally.roles) == ["PS", "Worker"]
    assert tally.deciding == ("Worker",)
