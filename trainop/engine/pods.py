"""The pod of a member: the user's template with our name, labels, owner, port, environment, accelerators and gang.

The only place that touches a user's template; it copies what it changes and leaves the rest shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainop import template
from trainop.api.spec import RestartPolicy
from trainop.engine import accelerators, gang, labels, topology
from trainop.framework import LONGEST_VARIABLE, Framework
from trainop.model import DEFAULTS, Env, Event, Job, Member, Problem, Settings, Topology

WORTH_MEASURING = 500
"""Members. With fewer, names of the greatest length do not add up to that."""


def manifest(
    framework: Framework[Any], job: Job[Any], member: Member, env: Env, settings: Settings = DEFAULTS
) -> dict[str, Any]:
    replica = job.replicas[member.role]
    ours = labels.of_member(framework, job, member)
    if topology.leads(framework, job, member):
        ours[labels.JOB_ROLE] = labels.JOB_ROLE_MASTER
    metadata: dict[str, Any] = {
        "name": member.name,
        "namespace": job.namespace,
        "labels": template.metadata(replica.template, "labels") | ours,
        "annotations": template.metadata(replica.template, "annotations")
        | {labels.TEMPLATE: template.fingerprint(replica.template)},
        "ownerReferences": [labels.owner(job)],
    }
    fitted = accelerators.fitted(settings, framework.container, replica.template["spec"])
    spec = fitted | {
        "containers": [_container(framework, c, env) for c in template.containers({"spec": fitted})],
        "restartPolicy": pod_restart_policy(framework.restart_policy(job, member.role, member.index)),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return gang.marked(settings, job, member, pod)


def pod_restart_policy(policy: RestartPolicy) -> str:
    """Exit codes are judged by us, so the kubelet must not restart such a pod by itself."""
    return RestartPolicy.NEVER.value if policy is RestartPolicy.EXIT_CODE else policy.value


def ports(framework: Framework[Any], container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The ports of the framework's container, with the default one where the user named none so."""
    written = list(container.get("ports") or ())
    if any(port.get("name") == framework.port_name for port in written):
        return written
    return [*written, {"name": framework.port_name, "containerPort": framework.port}]


def warnings(
    framework: Framework[Any],
    job: Job[Any],
    members: Topology,
    me: Member,
    settings: Settings = DEFAULTS,
) -> Iterator[Event]:
    """What in the template of a member will not be used as it was written."""
    written = job.replicas[me.role].template
    if written["spec"].get("restartPolicy"):
        yield Event("Warning", labels.RESTART_POLICY_OVERWRITTEN, labels.RESTART_POLICY_SENTENCE)
    if gang.ignored_by(settings, written["spec"]):
        yield Event("Warning", labels.SCHEDULER_KEPT, labels.SCHEDULER_SENTENCE)
    for container in template.containers(written):
        own = {entry["name"] for entry in container.get("env") or ()}
        if not own or not _gets_env(framework, container):
            continue
        if names := sorted(own & framework.bootstrap(job, members)(me).keys()):
            message = labels.ENV_SENTENCE.format(
                names=", ".join(names), container=container["name"], role=me.role
            )
            yield Event("Warning", labels.ENV_OVERWRITTEN, message)


def oversize(framework: Framework[Any], job: Job[Any], members: Topology) -> Problem | None:
    """An environment variable that grows with the job, and that no process could be started with."""
    if len(members) < WORTH_MEASURING:
        return None
    environment = framework.bootstrap(job, members)
    last = [role[-1] for role in members.roles.values() if role]
    sizes = {name: len(f"{name}={value}") + 1 for me in last for name, value in environment(me).items()}
    for name, size in sizes.items():
        if size > LONGEST_VARIABLE:
            where, most = f"spec.{framework.replicas_field}", LONGEST_VARIABLE
            return Problem(where, f"{name} would have {size} bytes and may have {most}: use fewer replicas")
    return None


def _container(framework: Framework[Any], written: Mapping[str, Any], env: Env) -> dict[str, Any]:
    container = dict(written)
    if container.get("name") == framework.container:
        container["ports"] = ports(framework, container)
    if env and _gets_env(framework, container):
        kept = [entry for entry in container.get("env") or () if entry.get("name") not in env]
        container["env"] = kept + [{"name": name, "value": value} for name, value in env.items()]
    return container


def _gets_env(framework: Framework[Any], container: Mapping[str, Any]) -> bool:
    return framework.env_everywhere or container.get("name") == framework.container
