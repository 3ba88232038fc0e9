"""Causes that the operator tells in `Blocked`: what the cluster would not take from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainop.api.status import ConditionType
from trainop.engine import gang
from trainop.explain.evidence import Evidence, Quota
from trainop.explain.findings import Finding, kubectl, ours


def refused(evidence: Evidence) -> Iterator[Finding]:
    condition = evidence.job.status.condition(ConditionType.BLOCKED)
    if condition is None or not condition.true:
        return
    told = condition.message
    match condition.reason:
        case "QuotaExceeded":
            yield _quota(evidence, told)
        case "NameConflict":
            yield _name_conflict(evidence, told)
        case "Forbidden" if "violates PodSecurity" in told:
            yield _pod_security(evidence, told)
        case "Forbidden":
            message = f"the cluster does not let the operator make what {evidence.title} needs."
            then = ("ask whoever runs the cluster which policy says so", "trainop doctor")
            yield Finding("Forbidden", message, (told,), then)
        case "InvalidTemplate":
            message = f"the API server does not take the pods of {evidence.title}: their template is wrong."
            edit = kubectl(evidence, "edit", evidence.framework.word, evidence.job.name)
            yield Finding("InvalidTemplate", message, (told,), ("mend the field it names:", edit))
        case "PodGroupUnavailable":
            message = f"{evidence.title} waits for a gang scheduler that is not there."
            yield Finding("NoGangScheduler", message, (told,), ("trainop doctor",))
        case "OperatorError":
            message = f"a mistake in the operator, or in its framework for {evidence.framework.kind}s."
            then = ("have whoever runs the operator look into its log", "trainop doctor")
            yield Finding("OperatorError", message, (told,), then)
        case reason if reason != "InvalidSpec":  # which stands in the job itself, see of_jobs.py
            yield Finding(reason, f"{evidence.title} makes no progress.", (told,), ("trainop doctor",))


def _quota(evidence: Evidence, told: str) -> Finding:
    name, resources = _exceeded(told)
    which = f"the quota {name}" if name else "a quota"
    of = f" ({', '.join(resources)})" if resources else ""
    message = f"{which} leaves no room for {evidence.title}{of}."
    lines = [line for quota in evidence.quotas if quota.metadata.name == name for line in _used(quota)]
    then = (
        f"free some, ask for less, or have {which} raised:",
        kubectl(evidence, "describe", "resourcequota", name).rstrip(),
    )
    return Finding("QuotaExceeded", message, (told, *lines), then)


def _exceeded(told: str) -> tuple[str, list[str]]:
    """The quota's name, and the resources that it has no more of."""
    name = re.search(r"exceeded quota: ([^,;\s]+)", told)
    requested = re.search(r"requested: (.*?), used:", told)
    resources = [pair.partition("=")[0] for pair in requested[1].split(",")] if requested else []
    return (name[1] if name else ""), resources


def _used(quota: Quota) -> Iterator[str]:
    for resource, hard in quota.status.hard.items():
        yield f"quota {quota.metadata.name}: {resource} {quota.status.used.get(resource, '0')} of {hard} used"


def _name_conflict(evidence: Evidence, told: str) -> Finding:
    found = re.match(r"(\w+) (\S+) exists", told)
    what, name = (found[1], found[2]) if found else ("", "")
    message = f"{evidence.title} cannot make its {what or 'child'} {name}: there is one of that name already."
    see = (kubectl(evidence, "get", what.lower(), name, "--show-labels"),) if name else ()
    then = ("delete or rename it, or rename the job", *see)
    return Finding("NameConflict", message, (told, *_whose(evidence, f"{what} {name}")), then)


def _whose(evidence: Evidence, child: str) -> Iterator[str]:
    if evidence.rival:
        owners = [f"{owner.kind} {owner.name}" for owner in evidence.rival.metadata.owner_references]
        yield f"{child} belongs to {' and '.join(owners) or 'nobody: it was made by itself'}"


def _pod_security(evidence: Evidence, told: str) -> Finding:
    found = re.search(r'violates PodSecurity "([^"]+)": (.*)', told, re.DOTALL)
    level, violations = (found[1], found[2]) if found else ("", told)
    message = f"the namespace demands Pod Security {level}, which the pods of {evidence.title} do not keep."
    then = (
        "set these in the securityContext of the pod templates, or use another namespace",
        "kubectl get namespace " + evidence.job.namespace + " --show-labels",
    )
    return Finding("PodSecurity", message, tuple(_listed(violations)), then)


def _listed(violations: str) -> list[str]:
    """Split at commas that are not inside of parentheses."""
    return [part.strip() for part in re.split(r",\s*(?![^()]*\))", violations) if part.strip()]


def gang_waits(evidence: Evidence) -> Iterator[Finding]:
    group = evidence.group
    if group is None or evidence.job.status.finished or evidence.job.policy.suspend:
        return
    if group.status.phase not in (*gang.NOT_ADMITTED, "Inqueue", "Scheduling", "PreScheduling", "Unknown"):
        return
    least = group.spec.min_member
    if group.status.phase != "Pending" and _placed(evidence) >= least:
        return
    message = (
        f"{evidence.title} waits for its gang: {least} pods have to find a place at once before any starts."
    )
    told = [f"PodGroup {group.metadata.name} is {group.status.phase or 'not looked at yet'}"]
    if group.spec.queue:
        told.append(f"its queue is {group.spec.queue}")
    told += [it.message for it in group.status.conditions if it.message and it.status != "False"][-1:]
    then = (
        "wait until the cluster has room, ask for less, or lower spec.runPolicy.schedulingPolicy.minAvailable",
        kubectl(evidence, "describe", "podgroup", group.metadata.name),
        ours(evidence, "status", "-w"),
    )
    yield Finding("WaitingForGang", message, tuple(told), then)


def _placed(evidence: Evidence) -> int:
    return sum(bool(pod.spec.node_name) for pod in evidence.pods)
