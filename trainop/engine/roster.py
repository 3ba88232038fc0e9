"""The roll call: each member of a job with its state, and children that belong to no member any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from trainop import template
from trainop.engine import companions, indexes, restart
from trainop.engine.restart import Ending
from trainop.framework import Framework
from trainop.model import Job, Member, RoleTally, SeenPod, SeenService, Tally, Topology, World


class State(StrEnum):
    MISSING = "has no pod"
    GOING = "its pod is being deleted"
    WAITING = "its pod has not started"
    OUTDATED = "its pod cannot start, and is made anew of a template that was changed since"
    ACTIVE = "its pod is running"
    SUCCEEDED = "has ended well and never runs again"
    FAILED = "has failed for good"
    RETRY = "has failed and will be tried again"
    LOST = "was taken away by the cluster and will be replaced"


BY_ENDING = {
    Ending.SUCCEEDED: State.SUCCEEDED,
    Ending.FAILED: State.FAILED,
    Ending.RETRY: State.RETRY,
    Ending.LOST: State.LOST,
}


class Place(Struct, frozen=True):
    """One member, and what was seen of it."""

    member: Member
    state: State
    pod: SeenPod | None = None
    service: SeenService | None = None


class Roster(Struct, frozen=True):
    places: tuple[Place, ...]
    surplus: tuple[Place, ...]
    """Members beyond the number of replicas, after a scale-down, and companions that are not wanted any more."""
    companions: tuple[Place, ...]
    """What the job wants beside its members."""
    states: Mapping[str, Mapping[State, list[int]]]
    """Who is in which state: the indexes, by role and state, of the members in `places`."""

    def __iter__(self) -> Iterator[Place]:
        yield from self.places
        yield from self.surplus

    def pods(self) -> Iterator[tuple[Member, SeenPod]]:
        return ((place.member, place.pod) for place in self if place.pod)


def call(framework: Framework[Any], job: Job[Any], members: Topology, world: World) -> Roster:
    """A child is a member's only by its name; a label is a hint for those that a scale-down left over."""
    pods = {pod.name: pod for pod in world.pods}
    services = {service.name: service for service in world.services}
    done = {role: succeeded(job, role) for role in job.replicas}
    states: dict[str, dict[State, list[int]]] = {role: {} for role in job.replicas}
    places = []
    for member in members:
        pod = pods.pop(member.name, None)
        state = _state(framework, job, member, pod, remembered=member.index in done[member.role])
        places.append(Place(member, state, pod, services.pop(member.name, None)))
        states[member.role].setdefault(state, []).append(member.index)
    beside, unwanted = [], []
    for member, wanted in companions.members(framework, job):
        place = _beside(member, pods.pop(member.name, None), services.pop(member.name, None))
        if wanted:
            beside.append(place)
        elif place.pod or place.service:
            unwanted.append(place)
    surplus = (*_surplus(framework, job, pods, services), *unwanted)
    return Roster(tuple(places), surplus, tuple(beside), states)


def succeeded(job: Job[Any], role: str) -> frozenset[int]:
    """Members of the role whose success is on record."""
    status = job.status.replica_statuses.get(role)
    return indexes.parse(status.succeeded_indexes, job.replicas[role].replicas) if status else frozenset()


def tally(framework: Framework[Any], job: Job[Any], roster: Roster) -> Tally:
    roles = {
        role: RoleTally(
            replicas=job.replicas[role].replicas,
            active=len(states.get(State.ACTIVE, ())),
            succeeded=frozenset(states.get(State.SUCCEEDED, ())),
            failed=frozenset(states.get(State.FAILED, ())),
        )
        for role, states in roster.states.items()
    }
    return Tally(roles, framework.deciding(job))


def _state(
    framework: Framework[Any], job: Job[Any], member: Member, pod: SeenPod | None, *, remembered: bool
) -> State:
    if remembered:
        return State.SUCCEEDED
    if pod is None:
        return State.MISSING
    if pod.deleting:
        # Whatever phase it passes through on its way out says nothing about the training.
        return State.GOING
    if pod.ended:
        policy = framework.restart_policy(job, member.role, member.index)
        return BY_ENDING[restart.ending(policy, framework.container, pod, framework.manner.retryable)]
    if pod.phase == "Running":
        return State.ACTIVE
    return State.OUTDATED if _outdated(job, member, pod) else State.WAITING


def _outdated(job: Job[Any], member: Member, pod: SeenPod) -> bool:
    """Only of one that does not get on: a pod that is about to run, or runs, stays what it is."""
    known = pod.template and pod.complaints
    return bool(known) and pod.template != template.fingerprint(job.replicas[member.role].template)


def _beside(member: Member, pod: SeenPod | None, service: SeenService | None) -> Place:
    """A companion is never done: one that has ended is replaced."""
    if pod is None:
        state = State.MISSING
    elif pod.deleting:
        state = State.GOING
    elif pod.ended:
        state = State.LOST
    else:
        state = State.ACTIVE if pod.phase == "Running" else State.WAITING
    return Place(member, state, pod, service)


def _surplus(
    framework: Framework[Any], job: Job[Any], pods: Mapping[str, SeenPod], services: Mapping[str, SeenService]
) -> Iterator[Place]:
    if not pods and not services:
        return
    roles = {role.name.lower(): role.name for role in framework.roles}
    for name in sorted({*pods, *services}):
        pod, service = pods.get(name), services.get(name)
        hint = pod or service
        if (
            hint is None
            or hint.role_label not in roles
            or not hint.index_label.isascii()
            or not hint.index_label.isdigit()
        ):
            continue
        role, index = roles[hint.role_label], hint.index_label.lstrip("0") or "0"
        if len(index) <= 9 and framework.manner.child_name(job, role, int(index)) == name:
            state = State.MISSING if pod is None else State.GOING if pod.deleting else State.WAITING
            yield Place(Member(role, int(index), name, "", 0), state, pod, service)
