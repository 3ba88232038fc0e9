"""Other operators that work on the same kinds, or have left something behind: two of them undo each other's work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from datetime import timedelta
from typing import Any

from trainop.api.spec import OurManager
from trainop.doctor.findings import ASK, Finding
from trainop.doctor.installation import Installation
from trainop.doctor.leases import LEASES, age, since
from trainop.errors import Gone, Refused
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.cluster import resource
from trainop.kube.port import Raw, Resource

HOOKS = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
OLD_LEASE = "1ca428e5.training-operator.kubeflow.org"
OLD_HOOK = "validator.training-operator.kubeflow.org"
LONG_AGO = timedelta(minutes=10)
"""Who has written nothing for so long is not at work."""


async def at_work(
    api: Client,
    deployments: Iterable[Installation],
    kinds: list[Framework[Any]],
    ours: Collection[Installation],
) -> AsyncIterator[Finding]:
    """Whether the operator before us works on the same kinds: two of them undo each other's work."""
    known = set()
    for found in deployments:
        known.add(found.namespace)
        if ours and not any(map(found.shares, ours)):
            continue
        if found.replicas and any(map(found.serves, kinds)):
            yield _rival(f"runs as deployment {found}", found.namespace, found.name, kinds)
    try:
        leases = (await api.list(LEASES, dict)).items
    except Refused as error:
        yield Finding("warning", "rivals", f"you cannot see who holds a lease: {error}", ASK)
        return
    for lease in leases:
        where = lease["metadata"]["namespace"]
        # Of one with a Deployment its flags tell more than its lease.
        if (
            lease["metadata"]["name"] == OLD_LEASE
            and where not in known
            and age(lease) < timedelta(minutes=1)
        ):
            yield _rival(f"holds its lease in namespace {where}", where, "training-operator", kinds)


async def asked(
    api: Client, deployments: Iterable[Installation], kinds: Iterable[Framework[Any]]
) -> AsyncIterator[Finding]:
    """Whether the API server asks the operator before us about jobs that it does not serve any more."""
    left = [kind for kind in kinds if not any(old.replicas and old.serves(kind) for old in deployments)]
    try:
        hooks = (await api.get(HOOKS, "", OLD_HOOK, dict)).get("webhooks") or []
    except Gone:
        return
    except Refused as error:
        yield Finding("warning", "webhook", f"you cannot see who is asked about jobs: {error}", ASK)
        return
    asked = [rule for hook in hooks for rule in hook.get("rules") or ()]
    if dead := [kind.kind for kind in left if any(_about(rule, kind) for rule in asked)]:
        yield Finding(
            "problem",
            "webhook",
            f"no {' or '.join(dead)} can be created or changed: {OLD_HOOK} asks an operator that does not answer",
            f"kubectl delete validatingwebhookconfiguration {OLD_HOOK}\n"
            "or, where it serves other kinds, take the entries for these from it",
        )


def _about(rule: Raw, kind: Framework[Any]) -> bool:
    return kind.plural in rule["resources"] and bool({kind.group, "*"} & set(rule["apiGroups"]))


def _rival(what: str, namespace: str, name: str, frameworks: Iterable[Framework[Any]]) -> Finding:
    kinds = ", ".join(framework.kind for framework in frameworks)
    stop = f"kubectl -n {namespace} scale deployment {name} --replicas=0"
    otherwise = f"or let it serve other kinds than {kinds} only, with its --enable-scheme"
    return Finding("problem", "rivals", f"the Kubeflow training operator {what}", f"{stop}\n{otherwise}")


async def writing(api: Client, framework: Framework[Any]) -> AsyncIterator[Finding]:
    """Who else has lately been at work on this kind, whatever it is called."""
    try:
        jobs = (await api.list(resource(framework), dict)).items
    except Gone:
        return
    except Refused as error:
        if not framework.older:
            yield Finding("warning", "rivals", f"you cannot see who writes {framework.plural}: {error}", ASK)
        return
    if writers := sorted(set(_writers(jobs))):
        yield Finding(
            "warning",
            "rivals",
            f"the status of {framework.plural} was lately written by {', '.join(writers)}",
            "find out what it is, and stop it or set spec.runPolicy.managedBy on its jobs",
        )


def _writers(jobs: Iterable[Raw]) -> Iterator[str]:
    """Who else has written a status not long ago, of a job that is ours to look after."""
    for job in jobs:
        policy = (job.get("spec") or {}).get("runPolicy") or {}
        if policy.get("managedBy") not in (None, "", OurManager):
            continue
        for entry in job["metadata"].get("managedFields") or ():
            lately = entry.get("time") and since(entry["time"]) < LONG_AGO
            if entry.get("subresource") == "status" and lately and entry.get("manager") != "trainop":
                yield entry.get("manager") or "somebody"
