"""What the operator would make of a job that it sees for the first time; nobody has to be asked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trainop.api.status import ConditionType, JobStatus
from trainop.engine.children import Children, Creation
from trainop.engine.plan import plan as make_plan
from trainop.framework import Framework
from trainop.model import CreatePodGroup, Event, Job, Plan, SeenPodGroup, Settings, World

ADMITTED = "Inqueue"
"""The phase of a PodGroup for which Volcano has found room."""


class Rendering(Struct, frozen=True):
    manifests: tuple[dict[str, Any], ...]
    """Without ownerReferences: a job has no UID before the API server gives it one, and a child that names a wrong
    one is taken away by the garbage collector."""
    warnings: tuple[Event, ...]
    failed: bool
    """The job would end here, for what the warnings say."""


def render(framework: Framework[Any], job: Job[Any], settings: Settings, now: datetime) -> Rendering:
    """Of a gang both steps: the PodGroup, and what is made once its scheduler has found room."""
    fresh = replace(job, status=JobStatus(), deleting=False)
    children, world = Children(framework, fresh, settings), World(now=now)
    plans = [make_plan(framework, fresh, world, settings)]
    made = _created(plans[0])
    if group := next((action for action in made if isinstance(action, CreatePodGroup)), None):
        admitted = SeenPodGroup(group.name, "", ADMITTED, spec=children.manifest(group)["spec"])
        plans.append(make_plan(framework, fresh, replace(world, pod_group=admitted), settings))
        made = list(dict.fromkeys((*made, *_created(plans[1]))))
    return Rendering(
        tuple(_unowned(children.manifest(action)) for action in made),
        tuple(event for plan in plans for event in plan.events if event.type == "Warning"),
        any(plan.status.is_true(ConditionType.FAILED) for plan in plans),
    )


def _created(plan: Plan) -> list[Creation]:
    return [action for action in plan.actions if isinstance(action, Creation)]


def _unowned(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "ownerReferences"}
    return {**manifest, "metadata": metadata}
