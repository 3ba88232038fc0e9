"""Specs of 2017 as kubeflow.org/v1 has them: what all kinds have in common when they are converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainop.model import Reading

from .reading import CLEANUP, LIMITS, Words, containers, folded

NAMES = "pods and services are called JOB-ROLE-INDEX and have the labels of v1; there is no RuntimeId"
STATUS = "the status has conditions instead of phase and state"
EXIT_CODES = (
    "a {role} that ends with 128 or 139 was tried again, and has failed for good now; one that was out of memory "
    "had failed for good, and is tried again now"
)
NOTHING_STAYS = {CLEANUP: "All"}
"""What kubeflow.org/v1alpha1 took for granted at the end of a job."""
Raw = Mapping[str, Any]


def written(fields: Any, name: str) -> Any:
    """What a field says, in whatever spelling; None where it is not there."""
    found = fields if isinstance(fields, Mapping) else {}
    return next((value for key, value in found.items() if folded(str(key)) == folded(name)), None)


def with_defaults(defaults: Callable[[Raw], Raw]) -> Callable[[Raw], Raw]:
    """A spec with those of its kind, unless it says something else."""

    def prepared(spec: Raw) -> Raw:
        missing = {key: it for key, it in defaults(spec).items() if written(spec, key) in (None, "")}
        return {**spec, **missing}

    return prepared


def policy(reading: Reading) -> dict[str, Any]:
    """`runPolicy`, with what may stand beside it; the inner one wins."""
    spec = reading.spec
    beside = {name: spec[name] for name in LIMITS if name in spec and name != "runPolicy"}
    inner = {name: value for name, value in (spec.get("runPolicy") or {}).items() if value is not None}
    return beside | inner


def replicas(reading: Reading, words: Words, port_name: str) -> dict[str, Any]:
    """By role, with the port under its name of today."""
    written: Mapping[str, Raw] = reading.spec[words.roles_field]
    return {
        role: {**replica, "template": _renamed(replica["template"], words, port_name)}
        for role, replica in written.items()
    }


def _renamed(template: Raw, words: Words, port_name: str) -> dict[str, Any]:
    made = [_with_port(it, words.port_name, port_name) for it in containers(template)]
    return {**template, "spec": {**template["spec"], "containers": made}}


def _with_port(container: Raw, old: str, new: str) -> dict[str, Any]:
    ports = [
        {**port, "name": new} if port.get("name") == old else port for port in container.get("ports") or ()
    ]
    return {**container, "ports": ports} if ports else dict(container)
