"""What holds for every job, every world and every stored status. RELIABILITY S1-S6; ARCHITECTURE "Invariants".

Each invariant looks at one pass: what was, and the plan made of it. It is tried on passes out of nowhere, where
nothing needs to make sense, and on each pass of lives, in which a cluster does to pods what clusters do.

The examples are the same in every run, so that a change is red or green by itself and not by luck. To search
further: TRAINOP_EXAMPLES=20000 pytest tests/test_invariants.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.builders import a_job, a_world, acted, child_name, doing, stored
from tests.generators import GROUPS, MOVES, STRANGERS, Move, Scene, Script, a_stranger, jobs, scenes
from trainop.engine import companions, gang, indexes
from trainop.engine.plan import plan
from trainop.framework import Framework
from trainop.model import (
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeletePod,
    DeleteService,
    Job,
    Plan,
    SeenContainer,
    SeenPod,
    SeenPodGroup,
    SeenService,
    Settings,
    World,
)

WISHED = int(os.environ.get("TRAINOP_EXAMPLES", "0"))


def examples(number: int) -> settings:
    # No deadline: a busy machine is no finding.
    return settings(max_examples=WISHED or number, derandomize=not WISHED, deadline=None, database=None)


class Pass(NamedTuple):
    framework: Framework[Any]
    job: Job[Any]
    world: World
    answer: Plan

    def members(self) -> Iterator[tuple[str, int, str]]:
        for role, replica in self.job.replicas.items():
            yield from ((role, index, child_name(role, index)) for index in range(replica.replicas))

    def beside(self) -> set[str]:
        """Names of the companions that the job wants."""
        return {member.name for member, wanted in companions.members(self.framework, self.job) if wanted}

    def made(self) -> list[CreatePod | CreateService]:
        return [a for a in self.answer.actions if isinstance(a, CreatePod | CreateService)]

    def record(self) -> set[str]:
        """Names of the members whose success is stored."""
        statuses = self.job.status.replica_statuses
        texts = {role: statuses[role].succeeded_indexes for role in self.job.replicas if role in statuses}
        return {name for role, i, name in self.members() if i in indexes.parse(texts.get(role, ""), i + 1)}

    def deleted(self) -> list[SeenPod]:
        pods = {pod.uid: pod for pod in self.world.pods}
        return [pods[action.uid] for action in self.answer.actions if isinstance(action, DeletePod)]

    def starts_anew(self) -> bool:
        return self.job.status.is_true("Suspended") and not self.answer.status.is_true("Suspended")

    def waits(self) -> bool:
        return self.job.policy.suspend or self.job.status.is_true("Suspended")


# --- the invariants -------------------------------------------------------------------------------------------


def creations_are_of_missing_members(seen: Pass) -> None:
    """S1: one pod for a role and index; index < replicas. Nothing is made twice."""
    known = {name for _, _, name in seen.members()} | seen.beside()
    pods = [action.member.name for action in seen.answer.actions if isinstance(action, CreatePod)]
    services = [action.member.name for action in seen.answer.actions if isinstance(action, CreateService)]
    for made, there in ((pods, seen.world.pods), (services, seen.world.services)):
        assert len(made) == len(set(made))
        assert set(made) <= known
        assert not set(made) & {child.name for child in there}


def nothing_is_made_for_a_job_that_has_ended_goes_or_waits(seen: Pass) -> None:
    """S3. Only companions outlive the training."""
    if seen.job.deleting or not seen.job.policy.ours or (seen.waits() and not seen.job.status.finished):
        assert not seen.made()
    if seen.job.status.finished:
        assert {action.member.name for action in seen.made()} <= seen.beside()


def a_member_that_has_succeeded_is_never_made_again(seen: Pass) -> None:
    made = {action.member.name for action in seen.answer.actions if isinstance(action, CreatePod)}
    assert not made & seen.record()


def a_pod_that_ended_well_is_kept_until_its_success_is_stored(seen: Pass) -> None:
    """S6; a job that is suspended forgets its successes (DECISIONS "resume")."""
    members = {name for _, _, name in seen.members()}
    if not seen.waits() and not seen.job.status.finished:
        lost = {pod.name for pod in seen.deleted() if pod.phase == "Succeeded"} & members
        assert lost <= seen.record()


def strangers_are_left_alone(seen: Pass) -> None:
    """S2; SECURITY "tampered label". And nothing is deleted that is on its way out."""
    children: dict[str, SeenPod | SeenService] = {pod.uid: pod for pod in seen.world.pods}
    children |= {service.uid: service for service in seen.world.services}
    for action in seen.answer.actions:
        if isinstance(action, DeletePod | DeleteService):
            child = children[action.uid]
            assert child.name == action.name
            assert not child.deleting
            assert not a_stranger(child)


def the_verdict_comes_before_destruction(seen: Pass) -> None:
    """RELIABILITY 1: the pass that sets a terminal condition does nothing else."""
    if seen.answer.status.finished and not seen.job.status.finished:
        assert seen.answer.actions == ()


def a_restart_is_counted_first_and_done_later(seen: Pass) -> None:
    before, after = seen.job.status, seen.answer.status
    if after.restart_count > before.restart_count:
        raised = {uid for uid, n in after.restarts_counted.items() if n > before.restarts_counted.get(uid, 0)}
        failed = {pod.uid for pod in seen.deleted() if pod.phase == "Failed" and not taken_by_cluster(pod)}
        assert not failed & raised


def the_count_of_restarts_never_falls(seen: Pass) -> None:
    """S5."""
    if not seen.starts_anew():
        assert seen.answer.status.restart_count >= seen.job.status.restart_count


def the_verdict_is_one_and_stays(seen: Pass) -> None:
    """S4. An older operator may have left both (kubeflow-v1 T6)."""
    before, after = seen.job.status, seen.answer.status
    if before.finished:
        assert after.conditions == before.conditions
        assert after.completion_time == before.completion_time
    else:
        assert not (after.is_true("Succeeded") and after.is_true("Failed"))


def times_are_written_once(seen: Pass) -> None:
    """S4."""
    before, after = seen.job.status, seen.answer.status
    if before.start_time and not seen.starts_anew():
        assert after.start_time == before.start_time
    if before.completion_time:
        assert after.completion_time == before.completion_time
    assert not after.finished or before.finished or after.completion_time
    for condition in after.conditions:
        old = before.condition(condition.type)
        if old and old.status == condition.status:
            assert condition.last_transition_time == old.last_transition_time


def counters_fit_the_replicas(seen: Pass) -> None:
    """S5, whenever they are counted anew."""
    after = seen.answer.status
    if not seen.job.status.finished and not seen.waits() and seen.job.policy.ours and not seen.job.deleting:
        for role, replica in seen.job.replicas.items():
            counts = after.replica_statuses[role]
            numbers = counts.active, counts.succeeded, counts.failed
            assert min(numbers) >= 0
            assert sum(numbers) <= replica.replicas
            assert len(indexes.parse(counts.succeeded_indexes, replica.replicas)) == counts.succeeded


INVARIANTS: list[Callable[[Pass], None]] = [
    creations_are_of_missing_members,
    nothing_is_made_for_a_job_that_has_ended_goes_or_waits,
    a_member_that_has_succeeded_is_never_made_again,
    a_pod_that_ended_well_is_kept_until_its_success_is_stored,
    strangers_are_left_alone,
    the_verdict_comes_before_destruction,
    a_restart_is_counted_first_and_done_later,
    the_count_of_restarts_never_falls,
    the_verdict_is_one_and_stays,
    times_are_written_once,
    counters_fit_the_replicas,
]


def taken_by_cluster(pod: SeenPod) -> bool:
    return pod.disrupted or pod.reason == "Evicted"


# --- passes out of nowhere ------------------------------------------------------------------------------------


@examples(200)
@given(scenes())
def test_every_invariant_holds_on_a_pass_out_of_nowhere(scene: Scene) -> None:
    seen = Pass(*scene, plan(*scene))
    for invariant in INVARIANTS:
        invariant(seen)


@examples(200)
@given(
    scenes(),
    st.sampled_from(["volcano", "other"]),
    st.none() | GROUPS,
    st.sampled_from(["", "", "no such kind"]),
)
def test_every_invariant_holds_for_a_gang(
    scene: Scene, scheduler: str, group: SeenPodGroup | None, missing: str
) -> None:
    framework, job, world = scene
    world = replace(world, pod_group=group, no_pod_groups=missing)
    options = Settings(gang_scheduler=scheduler)
    answer = plan(framework, job, world, options)
    seen = Pass(framework, job, world, answer)
    for invariant in INVARIANTS:
        invariant(seen)
    assert gang.ready(options, world) or {action.member.name for action in seen.made()} <= seen.beside()
    assert not (group or missing) or not [a for a in answer.actions if isinstance(a, CreatePodGroup)]


@examples(100)
@given(scenes())
def test_a_plan_is_a_function_of_what_it_is_given(scene: Scene) -> None:
    """Total: it never raises. Pure: the same again for the same, and what it was given is as it was."""
    before = repr(scene)
    assert plan(*scene) == plan(*scene)
    assert repr(scene) == before


@examples(100)
@given(scenes(), st.booleans())
def test_plans_converge(scene: Scene, graceful: bool) -> None:
    """When nobody else does anything there is soon nothing left to do. The longest way has four steps: count a
    restart, find the limit reached, clean up, see that nothing runs any more."""
    framework, job, world = scene
    for _ in range(4):
        answer = plan(framework, job, world)
        world, job = acted(job, world, answer.actions, graceful=graceful), stored(job, answer.status)
        if "-job" in doing(answer):
            return
    last = plan(framework, job, world)
    assert (doing(last), last.events) == ([], ())
    assert last.status == job.status


# --- lives ----------------------------------------------------------------------------------------------------


class Cluster:
    """A job, its world, and everything that may happen to them."""

    def __init__(self, framework: Framework[Any], job: Job[Any]) -> None:
        self.framework, self.job, self.world = framework, job, a_world(*STRANGERS)
        self.happened = 0
        """Restarts since the job began, counted or not."""

    def step(self, *, crash_after: int | None = None) -> None:
        """One pass of the operator, which may die after so many actions, before it has stored the status."""
        answer = plan(self.framework, self.job, self.world)
        seen = Pass(self.framework, self.job, self.world, answer)
        for invariant in INVARIANTS:
            invariant(seen)
        self.world = acted(self.job, self.world, answer.actions[:crash_after], graceful=True)
        if crash_after is None:
            self.job = stored(self.job, answer.status)
            if seen.starts_anew():
                self.happened = 0
        names = [pod.name for pod in self.world.pods]
        assert len(names) == len(set(names))
        assert self.job.status.restart_count <= self.happened

    def move(self, move: Move) -> None:
        what, pick, code = move
        pods = [pod for pod in self.world.pods if not a_stranger(pod)]
        pod = pods[pick % len(pods)] if pods else None
        match what:
            case "wait":
                self.world = replace(self.world, now=self.world.now + timedelta(seconds=10 * pick))
            case "suspend" | "resume":
                self.edit(policy=self.job.policy.model_copy(update={"suspend": what == "suspend"}))
            case "scale":
                self.scale(list(self.job.replicas)[pick % len(self.job.replicas)], pick % 5)
            case "vanish" if pod and pod.deleting:
                self.put(pod, None)
            case "delete" if pod:
                self.put(pod, replace(pod, deleting=True))
            case _ if pod and not pod.ended:
                self.kubelet(pod, what, code)

    def kubelet(self, pod: SeenPod, what: str, code: int | None) -> None:
        match what:
            case "run":
                self.put(pod, replace(pod, phase="Running"))
            case "succeed":
                self.put(pod, replace(pod, phase="Succeeded", containers=(self.ended(0),)))
            case "fail":
                self.happened += 1
                self.put(pod, replace(pod, phase="Failed", containers=(self.ended(code),)))
            case "evict":
                self.put(pod, replace(pod, phase="Failed", reason="Evicted"))
            case "bounce":
                self.happened += 1
                self.put(pod, replace(pod, restarts=pod.restarts + 1))

    def ended(self, code: int | None) -> SeenContainer:
        return SeenContainer(self.framework.container, code)

    def put(self, old: SeenPod, new: SeenPod | None) -> None:
        pods = ((new if pod is old else pod) for pod in self.world.pods)
        self.world = replace(self.world, pods=tuple(pod for pod in pods if pod))

    def edit(self, **changes: Any) -> None:
        self.job = replace(self.job, generation=self.job.generation + 1, **changes)

    def scale(self, role: str, number: int) -> None:
        if number or role not in self.framework.deciding(self.job):  # else the API server refuses
            replica = self.job.replicas[role].model_copy(update={"replicas": number})
            self.edit(replicas={**self.job.replicas, role: replica})

    def live(self, moves: list[Move]) -> None:
        self.step()
        for move in moves:
            self.move(move)
            self.step(crash_after=move[1] if move[0] == "crash" else None)

    def run_to_the_end(self) -> None:
        """From now on all goes well."""
        self.edit(policy=self.job.policy.model_copy(update={"suspend": False}))
        for _ in range(30):
            if self.job.status.finished:
                return
            for pod in self.world.pods:
                if pod.deleting:
                    self.put(pod, None)
                elif not pod.ended and not a_stranger(pod):
                    self.kubelet(pod, "succeed" if pod.phase == "Running" else "run", None)
            self.step()


@examples(150)
@given(jobs(), st.lists(MOVES, min_size=5, max_size=30))
def test_lives(made: Script, moves: list[Move]) -> None:
    """Every invariant on each pass, whatever happens, also when the operator dies between any two writes."""
    framework, words = made
    Cluster(framework, a_job(framework, **words)).live(moves)


@examples(150)
@given(jobs(), st.lists(MOVES, max_size=15))
def test_every_life_ends(made: Script, moves: list[Move]) -> None:
    """With all members well in the end: in success, unless a limit or a failure for good came before."""
    framework, words = made
    cluster = Cluster(framework, a_job(framework, **words))
    cluster.live(moves)
    policy = cluster.job.policy
    limited = policy.backoff_limit is not None or policy.active_deadline_seconds is not None
    failed = any(pod.phase == "Failed" and not a_stranger(pod) for pod in cluster.world.pods)
    doomed = cluster.job.status.finished or failed
    cluster.run_to_the_end()
    assert cluster.job.status.finished
    assert limited or doomed or cluster.job.status.is_true("Succeeded")
