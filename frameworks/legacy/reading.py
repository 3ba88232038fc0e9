"""Specs of 2017 as v1 writes them: keys in any spelling, replicas in a list, each mistake in the words of then."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainop.model import Problem, Reading, Unknown

LIMITS = ("cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "runPolicy")
"""What the kinds of 2017 did not have and v1 has: it works with them, too."""
CLEANUP, SCHEDULER = "cleanupPodPolicy", "schedulerName"
_RUNTIME_ID = "[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?"
Raw = Mapping[str, Any]


class Words(NamedTuple):
    """How a kind calls what all of them have."""

    container: str
    types: Mapping[str, str]
    """The role of each type of replica."""
    default: str
    single: str
    """The type of which there is exactly one."""
    type_field: str
    port_fields: tuple[str, ...]
    port_name: str
    roles_field: str
    """Of v1."""
    literal: str
    """The type's field, as the operators of 2017 spoke of it."""
    lacking: str
    """What they said of a template without the container."""
    more: tuple[str, ...] = ()
    """Other fields of an entry."""

    @property
    def known(self) -> str:
        return f"[{' '.join(self.types)}]"


class Notes:
    """What is found while an object is read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.remarks: list[str] = []
        self.unknown: list[Unknown] = []
        self.places: dict[str, str] = {}
        """By path in the shape that is made, the path in the object."""

    def reading(self, spec: Raw) -> Reading:
        """Of places one in the other the inner one comes first."""
        places = dict(sorted(self.places.items(), key=lambda place: -len(place[0])))
        return Reading(spec, tuple(self.problems), tuple(self.remarks), tuple(self.unknown), places)

    def wrong(self, path: str, literal: str) -> None:
        self.problems.append(Problem(path, literal, whole=True))

    def fields(self, written: Any, known: Iterable[str], path: str) -> dict[str, Any]:
        """Those that are set, by their right names. Neither letter case nor underscores matter; where a field is
        there twice, the right spelling wins."""
        if not isinstance(written, Mapping):
            self.problems.append(Problem(path, f"must be a mapping of names to values, not {written!r}"))
            return {}
        right, found = {folded(name): name for name in known}, {}
        for key, value in written.items():
            name = right.get(folded(str(key)))
            if name is None:
                self.unknown.append(Unknown(f"{path}.{key}", tuple(right.values())))
            elif key != name:
                self._remark(f"{path}.{key} is read as {name}")
            if name and value is not None and (key == name or written.get(name) is None):
                found[name] = value
                self.places[f"{path}.{name}"] = f"{path}.{key}"
        return found

    def text(self, spec: Raw, name: str) -> str:
        """Of a field of the spec; empty where there is none."""
        found = spec.get(name)
        if found is None or isinstance(found, str):
            return found or ""
        self.problems.append(
            Problem(self.places[f"spec.{name}"], f"must be text, not {found!r}; put it in quotes")
        )
        return ""

    def entries(self, written: Any, path: str) -> Iterator[tuple[str, Raw]]:
        """Of a list, each with its path; an empty one is passed over."""
        if not isinstance(written, list | tuple):
            if written is not None:
                self.problems.append(Problem(path, f"must be a list, not {written!r}"))
            return
        for number, entry in enumerate(written):
            if entry:
                yield f"{path}[{number}]", entry
            else:
                self.remarks.append(f"{path}[{number}] is empty and passed over")

    def _remark(self, text: str) -> None:
        """Of the entries of a list the same is said once."""
        if (said := re.sub(r"\[\d+\]", "[]", text)) not in self.remarks:
            self.remarks.append(said)


def common(notes: Notes, spec: Raw) -> dict[str, Any]:
    """What does not depend on the framework. Pods stay after the end, unless somebody says otherwise."""
    shape = {name: spec[name] for name in LIMITS if name in spec}
    shape.setdefault("cleanPodPolicy", spec.get(CLEANUP) or "None")
    given = notes.text(spec, "RuntimeId")
    if given and not re.fullmatch(_RUNTIME_ID, given):
        message = f"must be text of a-z, 0-9 and '-', as it is a part of names, not {given!r}"
        notes.problems.append(Problem(notes.places["spec.RuntimeId"], message))
    return shape | ({"runtimeId": given} if given else {})


def scheduled(notes: Notes, spec: Raw, roles: Raw, container: str) -> None:
    """All pods by the job's scheduler, but for those that name one."""
    if not (name := notes.text(spec, SCHEDULER)):
        return
    for replica in roles.values():
        if has_container(replica.get("template"), container):
            replica["template"]["spec"].setdefault(SCHEDULER, name)


def replicas(
    notes: Notes, words: Words, spec: Raw, template: Callable[[str, Raw], Any]
) -> dict[str, dict[str, Any]]:
    """By role, in the order of the list. `template` is that of an entry of this type."""
    where = notes.places.get("spec.replicaSpecs", "spec.replicaSpecs")
    notes.places[f"spec.{words.roles_field}"] = where
    known = ("replicas", "template", words.type_field, *words.port_fields, *words.more)
    found: dict[str, dict[str, Any]] = {}
    for path, entry in notes.entries(spec.get("replicaSpecs"), where):
        written = notes.fields(entry, known, path)
        type_ = str(written.get(words.type_field, words.default)).upper()
        role = words.types.get(type_)
        if role is None:
            place = notes.places.get(f"{path}.{words.type_field}", path)
            notes.wrong(place, f"{words.literal} is {type_} but must be one of {words.known}")
        elif role in found:
            notes.wrong(path, f"Replica type {type_} is there twice: keep one of them")
        elif written.get("replicas") != 0 or type_ == words.single:
            notes.places[f"spec.{words.roles_field}.{role}"] = path
            found[role] = _replica(
                notes, words, path, type_, {**written, "template": template(type_, written)}
            )
    return found


def _replica(notes: Notes, words: Words, path: str, type_: str, written: Raw) -> dict[str, Any]:
    found = {"replicas": written["replicas"]} if "replicas" in written else {}
    template, name = written["template"], words.container
    if type_ == words.single and written.get("replicas", 1) != 1:
        notes.wrong(notes.places[f"{path}.replicas"], f"The {type_} must have Replicas = 1")
    if not template:
        notes.wrong(path, f"Replica is missing Template; give it one with a container named {name}")
    elif not has_container(template, name):
        notes.wrong(f"{path}.template", f"Replica type {type_} is missing {words.lacking}")
        found["template"] = template
    else:
        field = next((field for field in words.port_fields if field in written), None)
        found["template"] = _prepared(template, words, written.get(field) if field else None)
        if field:
            port = _port_of(found["template"], words)
            shape = f"spec.{words.roles_field}.{words.types[type_]}.template.{port}"
            notes.places[shape] = notes.places[f"{path}.{field}"]
    return found


def _port_of(template: Raw, words: Words) -> str:
    """The path of the number, which is the last of the container's ports."""
    number, container = next(
        (number, it) for number, it in enumerate(containers(template)) if _is(it, words.container)
    )
    return f"spec.containers[{number}].ports[{len(container['ports']) - 1}].containerPort"


def folded(key: str) -> str:
    return key.replace("_", "").lower()


def containers(template: Any) -> list[Any]:
    """Of a template that may have any shape."""
    spec = template.get("spec") if isinstance(template, Mapping) else None
    found = spec.get("containers") if isinstance(spec, Mapping) else None
    return list(found) if isinstance(found, list | tuple) else []


def has_container(template: Any, name: str) -> bool:
    return any(_is(container, name) for container in containers(template))


def _is(container: Any, name: str) -> bool:
    return isinstance(container, Mapping) and container.get("name") == name


def _prepared(template: Raw, words: Words, port: Any) -> dict[str, Any]:
    """With that port in the container, and without a restart policy: the role has one."""
    made = [
        _with_port(it, words.port_name, port) if port is not None and _is(it, words.container) else it
        for it in containers(template)
    ]
    spec = {key: value for key, value in template["spec"].items() if key != "restartPolicy"}
    return {**template, "spec": {**spec, "containers": made}}


def _with_port(container: Raw, name: str, port: Any) -> Raw:
    ports = container.get("ports") or ()
    others = [it for it in ports if not (isinstance(it, Mapping) and it.get("name") == name)]
    return {**container, "ports": [*others, {"name": name, "containerPort": port}]}
