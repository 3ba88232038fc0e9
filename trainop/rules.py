"""What must hold between the fields of a job, said twice side by side: in Python for the operator and the
command line, in CEL for the API server. A framework adds rules of its own through the contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trainop import template
from trainop.framework import Framework
from trainop.model import Job, Problem

NAME = "[a-z]([-a-z0-9]*[a-z0-9])?"
ANY_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
MAX_NAME = 63
Validation = dict[str, str]
"""One entry of `x-kubernetes-validations`."""
# With these reasons the API server says `Required value: …`; else it says `Invalid value: "object": …`.
REQUIRED, FORBIDDEN = "FieldValueRequired", "FieldValueForbidden"


def problems(framework: Framework[Any], job: Job[Any]) -> Iterator[Problem]:
    """Every rule that the job breaks. Types, ranges and role names have been checked by then."""
    roles = f"spec.{framework.replicas_field}"
    for role, replica in job.replicas.items():
        where = f"{roles}.{role}.template.spec.containers"
        if not template.container(replica.template, framework.container):
            yield Problem(where, container_message(framework))
        for number, container in enumerate(template.containers(replica.template)):
            if not container.get("image"):
                yield Problem(f"{where}[{number}].image", image_message())
    for role, most in _limited(framework).items():
        if role in job.replicas and job.replicas[role].replicas > most:
            yield Problem(f"{roles}.{role}.replicas", most_message(role, most))
    deciding = framework.deciding(job)
    if not deciding or any(job.replicas[role].replicas == 0 for role in deciding):
        yield Problem(roles, deciding_message(framework))
    yield from (Problem(f"spec{rule.field}", rule.message) for rule in framework.rules if not rule.holds(job))
    yield from _misnamed_children(framework, job)


def misnamed(framework: Framework[Any], name: str) -> Iterator[Problem]:
    """What a job cannot be called, whatever it says of its members."""
    if not framework.manner.any_name:
        if not re.fullmatch(NAME, name):
            yield Problem("metadata.name", name_message())
    elif not re.fullmatch(ANY_NAME, name) or len(name) > MAX_NAME:
        yield Problem("metadata.name", any_name_message())


def _misnamed_children(framework: Framework[Any], job: Job[Any]) -> Iterator[Problem]:
    """The last of each role has the longest name. A service needs a stricter one than a pod."""
    names = {
        role: framework.manner.child_name(job, role, replica.replicas - 1)
        for role, replica in job.replicas.items()
        if replica.replicas
    }
    if any(len(name) > MAX_NAME for name in names.values()):
        yield Problem("metadata.name", length_message())
    served = (name for role, name in names.items() if framework.serves(role))
    if framework.manner.any_name and not all(re.fullmatch(NAME, name) for name in served):
        yield Problem("metadata.name", name_message())


def validations(framework: Framework[Any]) -> dict[str, list[Validation]]:
    """What the API server checks, by the place in the schema; `*` is each value of a map or list.

    It tells all that is wrong at once; but as long as a type or a word of a fixed vocabulary is wrong, or
    something required is missing, it does not look at rules, and says so.
    """
    roles = f"spec.{framework.replicas_field}"
    return {
        "": _of_job(framework, roles),
        "spec": _of_spec(framework),
        "spec.runPolicy.schedulingPolicy.queue": [
            _validation("self == oldSelf", "spec.runPolicy.schedulingPolicy.queue is immutable")
        ],
        roles: _of_roles(framework),
        f"{roles}.*": _of_replica(framework),
        f"{roles}.*.template.spec.containers.*": [
            _validation("self.?image.orValue('') != ''", image_message(), ".image", REQUIRED)
        ],
    }


def _of_job(framework: Framework[Any], roles: str) -> list[Validation]:
    """The names of pods and services are made of the job's name."""
    replicas = f"self.{roles}[r].?replicas.orValue(1)"
    length = f"size(self.metadata.name) + 1 + size(r) + 1 + size(string({replicas} - 1))"
    return [
        _validation(f"self.metadata.name.matches('^{NAME}$')", name_message(), ".metadata.name"),
        _validation(
            f"self.{roles}.all(r, {replicas} == 0 || {length} <= {MAX_NAME})",
            length_message(),
            ".metadata.name",
        ),
        *(_validation(rule.cel, rule.message, f".spec{rule.field}", FORBIDDEN) for rule in framework.rules),
    ]


def _of_spec(framework: Framework[Any]) -> list[Validation]:
    manager = "?runPolicy.?managedBy.orValue('')"
    # `in`, because the API server takes `==` between two strings of unknown length for too expensive.
    kept = _validation(f"self.{manager} in [oldSelf.{manager}]", "field is immutable", ".runPolicy.managedBy")
    where = f".{framework.replicas_field}"
    return [kept, _validation(_deciding_cel(framework), deciding_message(framework), where, REQUIRED)]


def _of_roles(framework: Framework[Any]) -> list[Validation]:
    known = f"self.all(r, {_among(role.name for role in framework.roles)})"
    once = "self.all(a, self.exists_one(b, a.lowerAscii() == b.lowerAscii()))"
    return [
        _validation(known, roles_message(framework), reason=FORBIDDEN),
        _validation(once, twice_message(), reason=FORBIDDEN),
        *(
            _validation(
                f"self.all(r, !({_among([role])}) || self[r].?replicas.orValue(1) <= {most})",
                most_message(role, most),
                reason=FORBIDDEN,
            )
            for role, most in _limited(framework).items()
        ),
    ]


def _of_replica(framework: Framework[Any]) -> list[Validation]:
    named = f"self.template.spec.containers.exists(c, c.name == '{framework.container}')"
    where = ".template.spec.containers"
    return [_validation(f"has(self.template.spec) && {named}", container_message(framework), where, REQUIRED)]


def roles_message(framework: Framework[Any]) -> str:
    known = ", ".join(role.name for role in framework.roles)
    return f"the roles of a {framework.kind} are {known} (in any letter case)"


def twice_message() -> str:
    return "two roles have the same name in different letter case: keep one of them"


def most_message(role: str, most: int) -> str:
    return f"a job has at most {most} {role}"


def container_message(framework: Framework[Any]) -> str:
    return f'one container must be named "{framework.container}"'


def image_message() -> str:
    return "an image is needed"


def deciding_message(framework: Framework[Any]) -> str:
    return f"the role that decides the outcome ({_deciders(framework)}) needs at least one replica"


def name_message() -> str:
    return "must be a DNS label that starts with a letter: a-z, 0-9 and '-', such as mnist-1"


def any_name_message() -> str:
    return f"must be a-z, 0-9, '-' and '.', such as mnist-1, with {MAX_NAME} characters at most"


def length_message() -> str:
    return (
        f"too long: NAME-role-index, the name of a pod and a service, may have {MAX_NAME} characters at most"
    )


def _limited(framework: Framework[Any]) -> dict[str, int]:
    return {role.name: role.most for role in framework.roles if role.most is not None}


def _ranks(framework: Framework[Any]) -> list[list[str]]:
    ranks = sorted({role.decides for role in framework.roles if role.decides})
    return [[role.name for role in framework.roles if role.decides == rank] for rank in ranks]


def _first(framework: Framework[Any]) -> Iterator[tuple[str, str, str]]:
    """Who decides before all others, and if which field, as users spell it, has which value."""
    for role in framework.roles:
        if role.first_if is not None:
            name, value = role.first_if
            yield role.name, framework.spec.model_fields[name].alias or name, value


def _deciders(framework: Framework[Any]) -> str:
    first = [f"{name} if {field} is {value}" for name, field, value in _first(framework)]
    return ", else ".join([*first, *(" or ".join(names) for names in _ranks(framework))])


def _deciding_cel(framework: Framework[Any]) -> str:
    """For each rank: if the job has such a role, each of them has replicas; else the next rank is asked."""
    roles, expression = f"self.{framework.replicas_field}", "false"
    asked = [
        ([name], f"self.?{field}.orValue('') == '{value}' && ") for name, field, value in _first(framework)
    ]
    asked += [(names, "") for names in _ranks(framework)]
    for names, only_if in reversed(asked):
        among = _among(names)
        some = f"{roles}.all(r, !({among}) || {roles}[r].?replicas.orValue(1) > 0)"
        expression = f"({only_if}{roles}.exists(r, {among}) ? {some} : {expression})"
    return expression


def _among(names: Iterable[str]) -> str:
    """In CEL: the key `r` is one of these roles."""
    return f"r.lowerAscii() in {[name.lower() for name in names]}"


def _validation(rule: str, message: str, field: str = "", reason: str = "") -> Validation:
    entry = {"rule": rule, "message": message, "fieldPath": field, "reason": reason}
    return {name: value for name, value in entry.items() if value}
