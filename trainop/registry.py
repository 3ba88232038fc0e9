"""The installed frameworks, found by entry point; a broken one stops the program and is named, with the place."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from trainop.errors import BrokenFramework, Usage
from trainop.framework import Framework
from trainop.model import GVK
from trainop.records import mistakes

GROUP = "trainop.frameworks"


class Found(NamedTuple):
    frameworks: dict[GVK, Framework[Any]]
    """By the kind each serves."""
    broken: tuple[BrokenFramework, ...]
    """Why each of the others cannot be used."""


def found() -> Found:
    """Whatever is installed. Of two that claim the same, the first by name has it."""
    good: dict[GVK, Framework[Any]] = {}
    taken: dict[str, EntryPoint] = {}
    broken = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            framework = _load(entry)
            claims = _claims(framework)
            if twice := next((it for it in claims if it in taken or claims.count(it) > 1), None):
                raise _broken(entry, f"its {twice} is taken by {_source(taken.get(twice, entry))}")
        except BrokenFramework as error:
            broken.append(error)
            continue
        taken |= dict.fromkeys(claims, entry)
        good |= {each.gvk: each for each in (framework, *framework.dialects)}
    return Found(good, tuple(broken))


def frameworks() -> dict[GVK, Framework[Any]]:
    """Every installed framework by the kind it serves. Raises BrokenFramework when one cannot be used."""
    good, broken = found()
    if broken:
        raise BrokenFramework("; ".join(map(str, broken)))
    return good


def by_name() -> dict[str, Framework[Any]]:
    """Without their dialects, which have the same name."""
    first: dict[str, Framework[Any]] = {}
    for framework in frameworks().values():
        first.setdefault(framework.name, framework)
    return first


def called(names: Collection[str]) -> list[Framework[Any]]:
    """Those of these names with their dialects; no names: all. Raises Usage for one that is not there."""
    known = by_name()
    if unknown := [name for name in names if name not in known]:
        raise Usage(f"no framework is called {', '.join(unknown)}; installed are {', '.join(known)}")
    wanted = (framework for name, framework in known.items() if not names or name in names)
    return [each for framework in wanted for each in (framework, *framework.dialects)]


def owner(group: str, kind: str, plural: str) -> str | None:
    """The name of the framework that has this kind, or this resource, in any version."""
    for framework in found().frameworks.values():
        if framework.group == group and (framework.kind == kind or framework.plural == plural):
            return framework.name
    return None


def blamed(error: BaseException) -> str | None:
    """A sentence about the framework in whose code this came up; None: it was in nobody's."""
    for entry in entry_points(group=GROUP):
        if _place(error, source(entry.module)):
            told = f"the framework {_source(entry)} raised {told_of(error, source(entry.module))}"
            return f"{told}; `trainop check-framework {entry.name}` tells more"
    return None


def source(module: str) -> Path | None:
    """The file of a module, or the folder of a package; None: there is none."""
    try:
        spec = find_spec(module)
    except (Exception, SystemExit):  # a package around it is as broken as it is
        return None
    if not spec or not spec.origin:
        return None
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def told_of(error: BaseException, home: Path | None) -> str:
    """What it is, and the last line below `home` that it came through."""
    message, place = str(error), _place(error, home)
    if isinstance(error, SyntaxError):
        message, place = error.msg, f"{error.filename}, line {error.lineno}"
    return f"{type(error).__name__}: {message}" + (f" ({place})" if place else "")


def _place(error: BaseException, home: Path | None) -> str:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if home and Path(frame.filename).resolve().is_relative_to(home.resolve()):
            return f"{frame.filename}, line {frame.lineno}"
    return ""


def _load(entry: EntryPoint) -> Framework[Any]:
    try:
        framework = entry.load()
    except (Exception, SystemExit) as error:  # whatever the code of a stranger does when it is imported
        raise _broken(entry, told_of(error, source(entry.module))) from error
    if not isinstance(framework, Framework):
        raise _broken(entry, f"it is of type {type(framework).__name__}, not a trainop.framework.Framework")
    if wrong := "; ".join(map(str, mistakes(framework))):
        raise _broken(entry, wrong)
    return framework


def _claims(framework: Framework[Any]) -> list[str]:
    """What nobody else may have. Two versions of one resource would be one CRD."""
    served = (framework, *framework.dialects)
    kinds = [f"kind {each.gvk.api_version} {each.kind}" for each in served]
    resources = [f"resource {each.plural}.{each.group}" for each in served]
    return [kinds[0], f"name {framework.name!r}", *kinds[1:], *resources]


def _broken(entry: EntryPoint, reason: str) -> BrokenFramework:
    return BrokenFramework(f"the framework {_source(entry)} cannot be used: {reason}")


def _source(entry: EntryPoint) -> str:
    """Where to look: the entry point, its file, and the package that a user can upgrade or uninstall."""
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return f"{entry.name!r} ({entry.value}, {_file(entry)}, of {package})"


def _file(entry: EntryPoint) -> str:
    home = source(entry.module)
    if home is None:
        return "no file"
    return str(home / "__init__.py" if home.is_dir() else home)
