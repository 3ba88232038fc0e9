"""The members of a job as people see them: one row each, with the word for its state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from trainop.api.spec import RestartPolicy
from trainop.engine.roster import State
from trainop.explain.evidence import Container, Ended, Evidence, Pod

WORDS = {
    State.MISSING: "no pod",
    State.GOING: "ending",
    State.WAITING: "waiting",
    State.OUTDATED: "made anew",
    State.ACTIVE: "running",
    State.SUCCEEDED: "succeeded",
    State.FAILED: "failed",
    State.RETRY: "restarting",
    State.LOST: "lost",
}
FINE = (WORDS[State.ACTIVE], WORDS[State.SUCCEEDED])
BY_PHASE = {"Running": State.ACTIVE, "Succeeded": State.SUCCEEDED, "Failed": State.FAILED}
FEW = 3
"""Members that are still named one by one in a sentence."""


class Row(Struct, frozen=True):
    role: str
    index: int
    state: State
    container: str
    """The one that does the training."""
    pod: Pod | None = None
    restarts: int = 0
    ended: bool = False
    """The job, and with it the need for a pod."""
    policy: RestartPolicy = RestartPolicy.NEVER

    @property
    def name(self) -> str:
        return f"{self.role.lower()}-{self.index}"

    @property
    def pod_name(self) -> str:
        return self.pod.name if self.pod else ""

    @property
    def own(self) -> Container | None:
        return self.pod.container(self.container) if self.pod else None

    @property
    def exit(self) -> Ended | None:
        """How its training ended, now or the last time."""
        return self.own.ended if self.own else None

    @property
    def word(self) -> str:
        """The kubelet's own, where it waits; else that for its state."""
        if self.ended and self.state in (State.MISSING, State.GOING):
            return "gone"
        if self.pod and self.state in (State.WAITING, State.ACTIVE):
            waits = (it.state.waiting for it in self.pod.containers)
            return next((it.reason for it in waits if it and it.reason), WORDS[self.state])
        if self.pod and self.state in (State.FAILED, State.LOST) and self.pod.status.reason:
            return self.pod.status.reason
        return WORDS[self.state]

    @property
    def created(self) -> datetime | None:
        return self.pod.metadata.creation_timestamp if self.pod else None


def rows(evidence: Evidence) -> Iterator[Row]:
    """Every member, in the order of the roles; then pods that are no member's, after a scale-down or a bad edit."""
    pods = {pod.name: pod for pod in evidence.pods}
    job, ended, container = evidence.job, evidence.job.status.finished, evidence.framework.container
    for place in evidence.roster.places:
        pod, restarts = pods.pop(place.member.name, None), place.pod.restarts if place.pod else 0
        role, index = place.member.role, place.member.index
        policy = evidence.framework.restart_policy(job, role, index)
        yield Row(role, index, place.state, container, pod, restarts, ended, policy)
    beside = {companion.name.lower() for companion in evidence.framework.companions}
    seen = {pod.name: pod for pod in evidence.seen}
    roles = {role.name.lower(): role.name for role in evidence.framework.roles}
    for pod in pods.values():
        hint = seen[pod.name]
        if hint.role_label in beside or not hint.index_label.isdecimal():
            continue
        state = State.GOING if hint.deleting else BY_PHASE.get(hint.phase, State.WAITING)
        role = roles.get(hint.role_label, hint.role_label)
        yield Row(role, int(hint.index_label[:9]), state, container, pod, hint.restarts, ended)


def named(members: Iterable[Row]) -> str:
    """`worker-0, worker-1 and 2 more`."""
    names = [row.name for row in members]
    if len(names) > FEW + 1:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def progress(members: Iterable[Row]) -> dict[str, str]:
    """`{"Worker": "3/4"}`: running or done, of all, by role. One that waits between two crashes does not run."""
    good: dict[str, list[bool]] = {}
    for row in members:
        good.setdefault(row.role, []).append(row.word in FINE)
    return {role: f"{sum(of)}/{len(of)}" for role, of in good.items()}
