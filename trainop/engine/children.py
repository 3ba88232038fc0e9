"""What becomes of an action that makes a child: the manifest, the same for whoever sends or shows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

from trainop.engine import companions, gang, pods, services
from trainop.engine.topology import topology
from trainop.framework import Bootstrap, Framework
from trainop.model import (
    DEFAULTS,
    CreatePod,
    CreatePodGroup,
    CreateService,
    Job,
    Member,
    Settings,
    Topology,
)

Creation: TypeAlias = CreatePod | CreateService | CreatePodGroup


class Children:
    """Of one job. What its members are told is worked out once, when the first of them is made."""

    def __init__(
        self,
        framework: Framework[Any],
        job: Job[Any],
        settings: Settings = DEFAULTS,
        placed: Callable[[Topology], Topology] = lambda members: members,
    ) -> None:
        """`placed` says where members are reached, where that is not by the names of their services."""
        self._framework, self._job, self._settings, self._placed = framework, job, settings, placed

    def manifest(self, action: Creation) -> dict[str, Any]:
        match action:
            case CreatePod(member):
                return self._pod(member)
            case CreateService(member):
                return self._service(member)
            case CreatePodGroup():
                return gang.manifest(gang.needed(self._settings), self._job)

    def _pod(self, member: Member) -> dict[str, Any]:
        if companion := self._framework.companion(member.role):
            return companions.pod(self._framework, self._job, companion)
        return pods.manifest(self._framework, self._job, member, self._environment(member), self._settings)

    def _service(self, member: Member) -> dict[str, Any]:
        if companion := self._framework.companion(member.role):
            return companions.service(self._framework, self._job, companion)
        return services.manifest(self._framework, self._job, member)

    @cached_property
    def _environment(self) -> Bootstrap:
        members = self._placed(topology(self._framework, self._job, self._settings.cluster_domain))
        environment = self._framework.bootstrap(self._job, members)
        return lambda me: environment(members.roles[me.role][me.index])
