"""`make reference`: docs/reference, one page per kind, from the models, the framework records and the engine itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainop.api.spec import RestartPolicy
from trainop.api.status import Condition, JobStatus, ReplicaStatus
from trainop.engine import companions, labels, restart
from trainop.engine.topology import leads, topology
from trainop.framework import Framework, Role
from trainop.model import Job, SeenContainer, SeenPod, Trouble
from trainop.parse import parse
from trainop.registry import by_name

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
CODES = ("0", "1", "2", "126", "127", "128", "130", "137", "138", "139", "143", "255", "none")
BUILT_IN = ("tensorflow", "mxnet", "pytorch", "xgboost")
MAPS = (dict, Mapping)


def page(framework: Framework[Any]) -> str:
    parts = (_head, _spec, _roles, _children, _environment, _status, _conditions, _events, _exit_codes)
    return "\n".join(line for part in parts for line in (*part(framework), "")).rstrip() + "\n"


def _head(framework: Framework[Any]) -> Iterator[str]:
    yield f"# {framework.kind}"
    yield ""
    yield f"`apiVersion: {framework.gvk.api_version}`, `kind: {framework.kind}`. Made by `make reference`; do not edit."
    if framework.older_versions:
        yield ""
        yield f"Read in the same way, and stored as {framework.version}: {', '.join(framework.older_versions)}."


def _spec(framework: Framework[Any]) -> Iterator[str]:
    yield "## Spec"
    yield ""
    yield "Defaults are filled in by the operator as it reads; the stored object keeps what you wrote."
    yield ""
    yield "| field | type | default | meaning |"
    yield "|---|---|---|---|"
    yield from _fields(framework.spec, "spec")


def _fields(model: type[BaseModel], path: str) -> Iterator[str]:
    for field in model.model_fields.values():
        name = f"{path}.{field.alias}"
        yield f"| `{name}` | {_type(field.annotation)} | {_default(field, name)} | {field.description or ''} |"
        inner = _model(field.annotation)
        if inner:
            yield from _fields(inner, f"{name}.ROLE" if get_origin(field.annotation) in MAPS else name)


def _default(field: FieldInfo, name: str) -> str:
    if name.endswith(".runPolicy.cleanPodPolicy"):
        return "`Running`"  # filled in after both places for it have been looked at
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value == "" or isinstance(value, BaseModel | dict | tuple):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _model(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds, be it optional or in a map."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model(part))), None)


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(_type(part) for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" if value else '`""`' for value in get_args(annotation))
    if get_origin(annotation) in MAPS:
        return f"map to {_type(get_args(annotation)[1])}"
    if get_origin(annotation) is tuple:
        return f"list of {_type(get_args(annotation)[0])}"
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return ", ".join(f"`{value}`" for value in annotation)
    plain = {int: "integer", str: "string", bool: "boolean", Any: "anything"}
    return plain.get(annotation, "time" if "datetime" in str(annotation).lower() else "object")


def _roles(framework: Framework[Any]) -> Iterator[str]:
    yield "## Roles"
    yield ""
    yield f"Names in any letter case. Every template needs a container named `{framework.container}`."
    yield ""
    yield "| role | decides the outcome |"
    yield "|---|---|"
    for role in framework.roles:
        yield f"| {role.name} | {_decides(framework, role)} |"


def _decides(framework: Framework[Any], role: Role) -> str:
    if not role.decides:
        return ""
    first = role.decides == min(other.decides for other in framework.roles if other.decides)
    usually = "yes" if first else "when no role before it does"
    if role.first_if is None:
        return usually
    field, value = role.first_if
    return f"with `{framework.spec.model_fields[field].alias}: {value}`; else {usually}"


def _children(framework: Framework[Any]) -> Iterator[str]:
    job = _example(framework)
    member = next(m for m in topology(framework, job) if leads(framework, job, m))
    yield "## Children"
    yield ""
    yield f"Each member is a pod and a headless service, both named `NAME-role-INDEX`, such as `{member.name}`."
    yield f"The port named `{framework.port_name}` is `{framework.port}` unless the template says otherwise."
    yield ""
    yield "| label | value |"
    yield "|---|---|"
    for key, value in labels.of_member(framework, job, member).items():
        yield f"| `{key}` | `{value}` |"
    yield f"| `{labels.JOB_ROLE}` | `{labels.JOB_ROLE_MASTER}`, on the pods whose logs stand for the job's |"
    for companion in framework.companions:
        yield ""
        yield f"Where the spec asks for a {companion.name}, it is a pod and a service named"
        yield f"`{companions.child_name(job, companion)}`. It is restarted whenever it ends, counts for nothing, and"
        yield "stays until the job is deleted; a suspended job has none."


def _environment(framework: Framework[Any]) -> Iterator[str]:
    job = _example(framework)
    members = topology(framework, job)
    last = list(members)[-1]
    where = "every container" if framework.env_everywhere else f"the container `{framework.container}`"
    yield "## Environment"
    yield ""
    yield f"Set in {where} of a member; here for `{last.name}`, where each role has one member:"
    yield ""
    yield "```"
    yield from (f"{name}={value}" for name, value in framework.bootstrap(job, members)(last).items())
    yield "```"
    yield ""
    yield "A variable of the same name in the template is dropped, with a Warning event."


def _status(framework: Framework[Any]) -> Iterator[str]:
    yield "## Status"
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for model, path in (
        (JobStatus, "status"),
        (Condition, "status.conditions[]"),
        (ReplicaStatus, "status.replicaStatuses.ROLE"),
    ):
        told = get_type_hints(model, include_extras=True)
        for name, field in zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True):
            type_, meaning = get_args(told[name])
            yield f"| `{path}.{field}` | {_type(type_)} | {meaning.description} |"


def _conditions(framework: Framework[Any]) -> Iterator[str]:
    kind, wording = framework.kind, framework.wording
    rows = [
        ("Created", "True", f"{kind}Created", labels.IS_CREATED),
        ("Running", "True", f"{kind}Running", wording.running),
        ("Running", "False", f"{kind}Suspended", labels.IS_SUSPENDED),
        ("Restarting", "True", f"{kind}Restarting", labels.IS_RESTARTING),
        ("Suspended", "True", f"{kind}Suspended", labels.IS_SUSPENDED),
        ("Suspended", "False", f"{kind}Resumed", labels.IS_RESUMED),
        ("Succeeded", "True", f"{kind}Succeeded", wording.succeeded),
        ("Failed", "True", f"{kind}Failed", wording.failed),
        ("Failed", "True", f"{kind}Failed", labels.IS_FAILING),
        ("Failed", "True", f"{kind}Failed", labels.OVER_DEADLINE),
        ("Failed", "True", f"{kind}Failed", labels.OVER_BACKOFF),
        ("Failed", "True", f"{kind}FailedValidation", wording.invalid),
        (
            "Blocked",
            "True",
            ", ".join(get_args(get_type_hints(Trouble)["reason"])),
            "what it is",
        ),
        ("Blocked", "False", "Progressing", labels.NOT_BLOCKED),
    ]
    yield "## Conditions"
    yield ""
    yield "The last one in the list is the job's state. Succeeded and Failed exclude each other and never change."
    yield ""
    yield "| type | status | reason | message |"
    yield "|---|---|---|---|"
    for type_, status, reason, message in rows:
        yield f"| {type_} | {status} | `{reason}` | {_sentence(message, framework)} |"


def _events(framework: Framework[Any]) -> Iterator[str]:
    kind, wording = framework.kind, framework.wording
    rows = [
        ("Normal", labels.CREATED_POD, "Created pod: POD"),
        ("Normal", labels.CREATED_SERVICE, "Created service: SERVICE"),
        ("Normal", labels.DELETED_POD, "Deleted pod: POD"),
        ("Normal", labels.DELETED_SERVICE, "Deleted service: SERVICE"),
        ("Normal", labels.TERMINATED, labels.TERMINATED_SENTENCE),
        ("Normal", labels.DELETED_POD_GROUP, "Deleted PodGroup: NAME"),
        ("Normal", labels.DELETED_JOB, "Deleted job: NAME"),
        ("Warning", labels.FAILED_CREATE_POD, labels.NOT_CREATED),
        ("Warning", labels.FAILED_CREATE_SERVICE, labels.NOT_CREATED),
        ("Warning", labels.FAILED_DELETE_POD, labels.NOT_DELETED),
        ("Warning", labels.FAILED_DELETE_SERVICE, labels.NOT_DELETED),
        ("Warning", labels.FAILED_DELETE_POD_GROUP, labels.NOT_DELETED),
        ("Warning", labels.FAILED_DELETE_JOB, labels.NOT_DELETED),
        ("Warning", "the container's, such as OOMKilled", labels.CONTAINER_ENDED),
        ("Warning", "the container's, such as ImagePullBackOff", labels.CONTAINER_WAITS),
        ("Warning", "the pod's, such as Unschedulable", labels.POD_CONDITION),
        ("Normal", labels.EXITED, labels.POD_EXITED),
        ("Warning", labels.RESTART_POLICY_OVERWRITTEN, labels.RESTART_POLICY_SENTENCE),
        ("Warning", labels.SCHEDULER_KEPT, labels.SCHEDULER_SENTENCE),
        ("Warning", labels.ENV_OVERWRITTEN, labels.ENV_SENTENCE),
        ("Warning", f"{kind}Restarting", labels.IS_RESTARTING),
        ("Normal", f"{kind}Succeeded", wording.succeeded),
        ("Normal", f"{kind}Failed", wording.failed),
        ("Warning", f"{kind}Failed", labels.IS_FAILING),
        ("Normal", f"{kind}Failed", labels.OVER_DEADLINE),
        ("Normal", f"{kind}Failed", labels.OVER_BACKOFF),
        ("Normal", f"{kind}Suspended", labels.IS_SUSPENDED),
        ("Normal", f"{kind}Resumed", labels.IS_RESUMED),
        ("Warning", f"{kind}FailedValidation", wording.invalid),
        ("Warning", "the reason of Blocked", "the message of Blocked"),
    ]
    yield "## Events"
    yield ""
    yield f"From `{framework.controller}`. When more than four children of a role come or go together, one line tells."
    yield "What lasts, such as a pod that does not get on or a child that is refused, is told again after ten minutes."
    yield ""
    yield "| type | reason | message |"
    yield "|---|---|---|"
    for type_, reason, message in rows:
        yield f"| {type_} | `{reason}` | {_sentence(message, framework)} |"


def _exit_codes(framework: Framework[Any]) -> Iterator[str]:
    yield "## Exit codes"
    yield ""
    yield f'Of the container `{framework.container}`, once its pod has ended; "none" is a pod that failed without one.'
    yield "Under `Always` and `OnFailure` the kubelet restarts a container in place before that. A pod that is deleted,"
    yield "evicted or lost with its node is replaced and not counted; under `Never` one that is evicted fails."
    yield "Sidecars never decide, and restarts of native ones do not count towards `backoffLimit`."
    yield ""
    policies = list(RestartPolicy)
    yield f"| code | {' | '.join(f'`{policy}`' for policy in policies)} |"
    yield f"|---|{'---|' * len(policies)}"
    for code in CODES:
        ended = [
            restart.ending(
                policy, framework.container, _ended(framework, code), framework.manner.retryable
            ).value
            for policy in policies
        ]
        yield f"| {code} | {' | '.join(ended)} |"


def _ended(framework: Framework[Any], code: str) -> SeenPod:
    containers = () if code == "none" else (SeenContainer(framework.container, int(code)),)
    return SeenPod("", "", datetime(2026, 1, 1, tzinfo=UTC), phase="Failed", containers=containers)


def _example(framework: Framework[Any]) -> Job[Any]:
    """A job with one member of each role that the usual jobs of its kind have."""
    known = [role.name for role in framework.roles if not role.name.startswith("Tuner")]
    usual = [role for role in known if role != "Master" or "Chief" not in known]
    template = {"spec": {"containers": [{"name": framework.container, "image": "example/train"}]}}
    spec: dict[str, Any] = {framework.replicas_field: {role: {"template": template} for role in usual}}
    if "job_mode" in framework.spec.model_fields:
        spec["jobMode"] = "MXTrain"
    return parse(framework, {"metadata": {"name": "mnist"}, "spec": spec})


def _sentence(message: str, framework: Framework[Any]) -> str:
    words = {
        "kind": framework.kind,
        "namespace": "NAMESPACE",
        "name": "NAME",
        "count": "N",
        "role": "ROLE",
        "pod": "POD",
    }
    words |= {"code": "CODE", "problems": "FIELD: PROBLEM; …", "names": "VARIABLES", "container": "CONTAINER"}
    words |= {"pods": "pod POD", "message": "MESSAGE", "error": "ERROR"}
    return message.format(**words)


@click.command()
def main() -> None:
    """Write docs/reference anew."""
    FOLDER.mkdir(exist_ok=True)
    for framework in by_name().values():
        if framework.name in BUILT_IN:
            path = FOLDER / f"{framework.kind.lower()}.md"
            path.write_text(page(framework))
            click.echo(f"wrote {path.relative_to(FOLDER.parents[1])}")


if __name__ == "__main__":
    main()
