"""The installed frameworks, found by entry point; a broken one stops the program and is named."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from trainop.errors import BrokenFramework
from trainop.framework import Framework
from trainop.model import GVK

GROUP = "trainop.frameworks"


def frameworks() -> dict[GVK, Framework[Any]]:
    """Every installed framework by the kind it serves. Raises BrokenFramework when one cannot be used."""
    found: dict[GVK, Framework[Any]] = {}
    taken: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        framework = _load(entry)
        served = (framework, *framework.dialects)
        kinds = [f"kind {each.gvk.api_version} {each.kind}" for each in served]
        for claim in (kinds[0], f"name {framework.name!r}", *kinds[1:]):
            if claim in taken:
                raise _broken(entry, f"its {claim} is taken by {_source(taken[claim])}")
            taken[claim] = entry
        found |= {each.gvk: each for each in served}
    return found


def by_name() -> dict[str, Framework[Any]]:
    """Without their dialects, which have the same name."""
    first: dict[str, Framework[Any]] = {}
    for framework in frameworks().values():
        first.setdefault(framework.name, framework)
    return first


def _load(entry: EntryPoint) -> Framework[Any]:
    try:
        framework = entry.load()
    except Exception as error:  # whatever the code of a stranger does when it is imported
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(framework, Framework):
        raise _broken(entry, f"it is of type {type(framework).__name__}, not a trainop.framework.Framework")
    return framework


def _broken(entry: EntryPoint, reason: str) -> BrokenFramework:
    return BrokenFramework(f"the framework {_source(entry)} cannot be used: {reason}")


def _source(entry: EntryPoint) -> str:
    """Where to look: the entry point, and the package that a user can upgrade or uninstall."""
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return f"{entry.name!r} ({entry.value}, of {package})"
