"""What users are told about children that came and went, or would not: a line each, or one per role for many."""

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
    StampJob,
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


def of_failures(failed: Iterable[tuple[Action, str]]) -> Iterator[Event]:
    """One Warning for each role whose children the cluster would not let us make or delete."""
    first: dict[tuple[str, str], str] = {}
    for action, error in failed:
        first.setdefault(_failure(action), error)
    for (reason, role), error in first.items():
        if reason:
            deleting = reason.startswith("FailedDelete")
            sentence = labels.NOT_DELETED if deleting else labels.NOT_CREATED
            yield Event("Warning", reason, sentence.format(error=error), story=role or "-")


def _failure(action: Action) -> tuple[str, str]:
    """The reason, empty if users are told by `Blocked` alone, and the role."""
    match action:
        case CreatePod(member):
            return labels.FAILED_CREATE_POD, member.role
        case CreateService(member):
            return labels.FAILED_CREATE_SERVICE, member.role
        case DeletePod(role, _, _):
            return labels.FAILED_DELETE_POD, role
        case DeleteService(role, _, _):
            return labels.FAILED_DELETE_SERVICE, role
        case CreatePodGroup() | PatchPodGroup() | StampJob():
            return "", ""
        case DeletePodGroup():
            return labels.FAILED_DELETE_POD_GROUP, ""
        case DeleteJob():
            return labels.FAILED_DELETE_JOB, ""


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
        case CreatePodGroup() | PatchPodGroup() | StampJob():
            return None
        case DeletePodGroup(name, _):
            return (labels.DELETED_POD_GROUP, "Deleted PodGroup", ""), name
        case DeleteJob():
            return (labels.DELETED_JOB, "Deleted job", ""), job_name
