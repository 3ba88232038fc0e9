"""What the operator must be allowed to do, and nothing more: for the chart's Roles, `rbac`, `doctor` and the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trainop.framework import Framework
from trainop.model import GVK

CHILDREN = ("get", "list", "watch", "create", "delete")


class Right(NamedTuple):
    group: str
    resource: str
    """With its subresource: `tfjobs/status`."""
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{self.group and '.' + self.group}"


def of_jobs(frameworks: Iterable[Framework[Any]], pod_groups: GVK | None = None) -> Iterator[Right]:
    """In every namespace that is served. `pod_groups`: the gang scheduler's, where there is one."""
    for framework in frameworks:
        group, jobs = framework.group, framework.plural
        # Deleted when their time to live is over.
        yield from (Right(group, jobs, verb) for verb in ("get", "list", "watch", "delete"))
        if framework.manner.stamp:
            yield Right(group, jobs, "patch")
        yield Right(group, f"{jobs}/status", "patch")
        # To own children, where the admission plugin OwnerReferencesPermissionEnforcement asks for it.
        yield Right(group, f"{jobs}/finalizers", "update")
    for children in ("pods", "services"):
        yield from (Right("", children, verb) for verb in CHILDREN)
    # A patch raises the count of an event that happens again.
    yield from (Right("", "events", verb) for verb in ("create", "patch"))
    if pod_groups:
        yield from (Right(pod_groups.group, "podgroups", verb) for verb in (*CHILDREN, "patch"))


def of_the_lease() -> Iterator[Right]:
    """In the operator's own namespace; all but the create only for the Lease of its name."""
    yield from (Right("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "patch"))


def rules(rights: Iterable[Right]) -> list[dict[str, list[str]]]:
    """As a Role has them: what takes the same verbs in one group stands in one rule."""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), {})[right.verb] = None
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), allowed in verbs.items():
        resources.setdefault((group, tuple(allowed)), []).append(resource)
    return [
        {"apiGroups": [group], "resources": names, "verbs": list(allowed)}
        for (group, allowed), names in resources.items()
    ]
