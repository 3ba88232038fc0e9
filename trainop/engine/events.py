"""What users are told about children that came and went: one line each, or one per role when they are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainop.engine import labels
from trainop.model import (
    Action,
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeleteJob,
    DeletePod,
    DeletePodGroup,
    DeleteService,
    Event,
    PatchPodGroup,
)

LINES = 4
"""Children of one role that still get a line each."""

Story = tuple[str, str, str]
"""Reason, `Created pod`, role: what makes events one story."""


def of_children(done: Iterable[Action], job_name: str) -> Iterator[Event]:
    stories: dict[Story, list[str]] = {}
    for action in done:
        if isinstance(action, DeletePodGroup):
            yield Event("Normal", labels.TERMINATED, labels.TERMINATED_SENTENCE)
        if told := _story(action, job_name):
            stories.setdefault(told[0], []).append(told[1])
    for (reason, what, _), names in stories.items():
        if len(names) <= LINES:
            yield from (Event("Normal", reason, f"{what}: {name}") for name in names)
        else:
            yield Event("Normal", reason, f"{what}s: {names[0]} … {names[-1]} ({len(names)})")


def _story(action: Action, job_name: str) -> tuple[Story, str] | None:
    """None: users are told nothing of it."""
    match action:
        case CreatePod(member):
            return (labels.CREATED_POD, "Created pod", member.role), member.name
        case CreateService(member):
            return (labels.CREATED_SERVICE, "Created service", member.role), member.name
        case DeletePod(role, name, _):
            return (labels.DELETED_POD, "Deleted pod", role), name
        case DeleteService(role, name, _):
            return (labels.DELETED_SERVICE, "Deleted service", role), name
        case CreatePodGroup() | PatchPodGroup():
            return None
        case DeletePodGroup(name, _):
            return (labels.DELETED_POD_GROUP, "Deleted PodGroup", ""), name
        case DeleteJob():
            return (labels.DELETED_JOB, "Deleted job", ""), job_name
