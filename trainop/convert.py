"""Jobs of dialects and older versions as the framework's own kind has them: what changes, what has no equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trainop.api.spec import Limits
from trainop.framework import Framework
from trainop.manner import Cousin, Modern
from trainop.model import Problem
from trainop.parse import UNKNOWN, parse

SERVERS = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
"""Metadata that the API server writes."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
RENAMED = {"ttlSecondsAfterFinishing": "ttlSecondsAfterFinished"}
"""Fields of older versions, and what they are called now."""
_AS_WRITTEN = Cousin(lambda spec: spec)


class Converted(NamedTuple):
    source: str
    """`GROUP/VERSION KIND` of what was there."""
    job: dict[str, Any]
    """Empty where there are problems."""
    changed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def same(self) -> bool:
        """It was of that kind and version already."""
        return bool(self.job) and self.source == _identity(self.job)


def convert(frameworks: Iterable[Framework[Any]], raw: Mapping[str, Any]) -> Converted | None:
    """None: that is no job of any kind we know."""
    identity = _identity(raw)
    for framework in frameworks:
        if identity == _identity_of(framework) and not framework.manner.read:
            return Converted(identity, {**_bare(framework, raw), "spec": raw.get("spec")})
        if identity in (f"{version} {framework.kind}" for version in framework.api_versions):
            return _checked(framework, raw, _of_older_version(framework, raw))
        for dialect in framework.dialects:
            if identity == _identity_of(dialect):
                return _of_dialect(framework, dialect, raw, _AS_WRITTEN)
            if cousin := dialect.manner.cousins.get(identity):
                return _of_dialect(framework, dialect, raw, cousin)
    return None


def _identity(raw: Mapping[str, Any]) -> str:
    return f"{raw.get('apiVersion')} {raw.get('kind')}"


def _identity_of(framework: Framework[Any]) -> str:
    return f"{framework.gvk.api_version} {framework.kind}"


def _of_dialect(
    framework: Framework[Any], dialect: Framework[Any], raw: Mapping[str, Any], cousin: Cousin
) -> Converted:
    """Problems are told in the words of the dialect, as nothing else was read."""
    written = raw.get("spec")
    spec = cousin.prepared(written) if isinstance(written, Mapping) else written
    job = parse(dialect, {**raw, "spec": spec})
    if job.problems or not dialect.manner.read or not dialect.manner.modern:
        return Converted(_identity(raw), {}, problems=job.problems)
    reading = dialect.manner.read({**raw, "spec": spec})
    modern = dialect.manner.modern(reading)
    unread = (f"{it.path}: nobody has ever read this field" for it in reading.unknown)
    changed = (*reading.remarks, *(it for it in modern.changed if it not in cousin.otherwise))
    lost = (*cousin.lost(_mapping(written)), *(it for it in modern.lost if it not in cousin.otherwise))
    return _checked(framework, raw, Modern(modern.spec, changed, (*lost, *unread)))


def _of_older_version(framework: Framework[Any], raw: Mapping[str, Any]) -> Modern:
    """What stood beside the run policy goes into it, where v1 has its place; the inner one wins."""
    written = raw.get("spec")
    spec = {RENAMED.get(key, key): value for key, value in _mapping(written).items()}
    names = [field.alias or name for name, field in Limits.model_fields.items()]
    beside = {name: spec.pop(name) for name in names if name in spec}
    inner = _mapping(spec.pop("runPolicy", None))
    policy = beside | {name: value for name, value in inner.items() if value is not None}
    changed = [f"spec.{old} is now called {new}" for old, new in RENAMED.items() if old in _mapping(written)]
    changed += [f"spec.{name} is now in spec.runPolicy" for name in beside]
    made = ({"runPolicy": policy} if policy else {}) | spec
    return Modern(made, tuple(changed))


def _checked(framework: Framework[Any], raw: Mapping[str, Any], modern: Modern) -> Converted:
    """Fields that are unknown today are left out; any other problem is one that nobody but the user can solve."""
    made, lost = {**_bare(framework, raw), "spec": dict(modern.spec)}, list(modern.lost)
    for problem in parse(framework, made, strict=True).problems:
        if problem.message == UNKNOWN:
            made["spec"] = _without(made["spec"], problem.path.split(".")[1:])
            lost.append(f"{problem.path}: {framework.gvk.api_version} has no such field")
    problems = parse(framework, made, strict=True).problems
    return Converted(_identity(raw), {} if problems else made, modern.changed, tuple(lost), problems)


def _bare(framework: Framework[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """What of an object is its user's, without the spec."""
    metadata = {key: value for key, value in _mapping(raw.get("metadata")).items() if key not in SERVERS}
    notes = dict(_mapping(metadata.pop("annotations", None)))
    notes.pop(LAST_APPLIED, None)
    if notes:
        metadata["annotations"] = notes
    return {"apiVersion": framework.gvk.api_version, "kind": framework.kind, "metadata": metadata}


def _without(value: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {key: item for key, item in value.items() if key != first}
    return {key: _without(item, rest) if key == first else item for key, item in value.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
