"""What is wrong with an installation, and what to do about it: for `trainop doctor`. It changes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import combinations
from typing import Any

from trainop.crd import crd
from trainop.doctor import rivals
from trainop.doctor.findings import ASK, Finding
from trainop.doctor.installation import Installation
from trainop.doctor.leases import LEASES, age
from trainop.engine import gang
from trainop.errors import Gone, Refused
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.port import Raw, Resource
from trainop.model import Settings
from trainop.rights import Right, of_jobs, of_the_lease

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS = Resource("apps", "v1", "deployments")
REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews")

OURS = "app.kubernetes.io/part-of=trainop"
OLD = "control-plane=kubeflow-training-operator,app.kubernetes.io/part-of!=trainop"
RENEWED_WITHIN = 3.0
"""Seconds in which whoever leads renews its lease."""


async def examine(api: Client, frameworks: Mapping[Any, Framework[Any]]) -> AsyncIterator[Finding]:
    """In the order in which one would repair it. Raises Unreachable when nobody answers.

    What whoever asks may not see is a warning, and the rest is looked at all the same.
    """
    installations, older, refusal = list[Installation](), list[Installation](), ""
    try:
        installations, older = await _deployed(api, OURS), await _deployed(api, OLD)
    except Refused as error:
        refusal = str(error)
    kinds = []
    for framework in frameworks.values():
        if await _concerns(api, framework, installations):
            kinds.append(framework)
            yield await _kind(api, framework)
    if refusal:
        yield Finding("warning", "operator", f"you cannot look for one: {refusal}", ASK)
    else:
        for finding in _together(installations, kinds):
            yield finding
        for found in installations:
            served = [framework for framework in kinds if found.serves(framework)]
            yield _replicas(found)
            yield await _rights(api, served, found)
            if found.elects:
                yield await _leader(api, found)
        async for finding in rivals.at_work(api, older, kinds, installations):
            yield finding
        async for finding in rivals.asked(api, older, kinds):
            yield finding
    for framework in kinds:
        async for finding in rivals.writing(api, framework):
            yield finding


async def _deployed(api: Client, selector: str) -> list[Installation]:
    return [Installation.seen(it) for it in (await api.list(DEPLOYMENTS, dict, selector=selector)).items]


async def _concerns(api: Client, framework: Framework[Any], installations: list[Installation]) -> bool:
    """A kind that no operator of ours serves is left to others; one of the older ones is, where it is not installed."""
    if installations and not any(found.serves(framework) for found in installations):
        return False
    return not framework.older or framework.plural in await api.served(framework.group, framework.version)


async def _kind(api: Client, framework: Framework[Any]) -> Finding:
    wanted = crd(framework)
    name, about = wanted["metadata"]["name"], f"CRD {framework.kind}"
    repair = f"trainop crds --framework {framework.name} | kubectl apply -f -"
    missing = Finding("problem", about, f"{name} is not installed", repair)
    try:
        found = await api.get(CRDS, "", name, dict)
    except Gone:
        return missing
    except Refused as error:
        if framework.plural not in await api.served(framework.group, framework.version):
            return missing
        return Finding("warning", about, f"{name} is installed, but you cannot see its version: {error}", ASK)
    if not _same(wanted["spec"]["versions"], found["spec"]["versions"]):
        return Finding("problem", about, f"{name} is of another version than this trainop", repair)
    return Finding("ok", about, name)


def _same(wanted: Any, found: Any) -> bool:
    """Whether all that is wanted is there; the API server adds defaults to it."""
    match wanted, found:
        case dict(), dict():
            return all(key in found and _same(value, found[key]) for key, value in wanted.items())
        case list(), list():
            return len(wanted) == len(found) and all(map(_same, wanted, found))
        case _:
            return bool(wanted == found)


def _together(installations: list[Installation], kinds: Iterable[Framework[Any]]) -> Iterator[Finding]:
    """There must be one; two that serve the same kind in the same namespace hinder each other."""
    if not installations:
        yield Finding(
            "problem",
            "operator",
            "no Deployment of trainop was found",
            "helm install trainop charts/trainop -n trainop-system --create-namespace",
        )
    for one, two in combinations((found for found in installations if found.replicas), 2):
        if not any(one.serves(kind) and two.serves(kind) for kind in kinds):
            continue
        if both := one.shares(two):
            yield Finding(
                "problem",
                "operator",
                f"{one} and {two} both serve {', '.join(both)}",
                "uninstall one, or give each its own namespaces (chart value `namespaces`)",
            )


def _replicas(found: Installation) -> Finding:
    about, where = "operator", str(found)
    if found.replicas == 0:
        return Finding(
            "problem",
            about,
            f"{where} is scaled to 0",
            f"kubectl -n {found.namespace} scale deployment {found.name} --replicas=2",
        )
    if found.replicas > 1 and not found.elects:
        return Finding(
            "problem",
            about,
            f"{where} has {found.replicas} replicas and no leader election",
            "set leaderElection.enabled, or one replica",
        )
    if found.ready < found.replicas:
        look = f"kubectl -n {found.namespace} describe pods\nkubectl -n {found.namespace} logs deployment/{found.name}"
        return Finding(
            "warning" if found.ready else "problem",
            about,
            f"{where}: {found.ready} of {found.replicas} replicas are ready",
            look,
        )
    return Finding("ok", about, f"{where}: {found.ready} of {found.replicas} replicas are ready")


async def _rights(api: Client, frameworks: Iterable[Framework[Any]], found: Installation) -> Finding:
    user = f"system:serviceaccount:{found.namespace}:{found.account}"
    scheduler = gang.scheduler(Settings(gang_scheduler=found.flag("--gang-scheduler-name")))
    lease = found.flag("--leader-election-id", "trainop")
    home = found.flag("--leader-election-namespace", found.namespace)
    asked = [
        (right, where, "")
        for right in of_jobs(frameworks, scheduler.gvk if scheduler else None)
        for where in found.served or [""]
    ]
    if found.elects:
        asked += [(right, home, "" if right.verb == "create" else lease) for right in of_the_lease()]
    missing = []
    for right, namespace, name in asked:
        try:
            allowed = await _allowed(api, user, right, namespace, name)
        except Refused as error:
            return Finding("warning", "rights", f"you cannot ask what {user} may do: {error}", ASK)
        if not allowed:
            missing.append(f"{right} in {namespace}" if namespace else str(right))
    if missing:
        return Finding(
            "problem",
            "rights",
            f"{user} may not: {'; '.join(missing)}",
            "install the chart with rbac.install=true, or grant these (docs/operations.md)",
        )
    return Finding("ok", "rights", f"{user} has all {len(asked)}")


async def _allowed(api: Client, user: str, right: Right, namespace: str, name: str) -> bool:
    plural, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": plural,
        "subresource": subresource,
        "verb": right.verb,
        "namespace": namespace,
        "name": name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": _groups(user), "resourceAttributes": attributes},
    }
    return bool((await api.create(REVIEWS, "", body, dict))["status"].get("allowed"))


def _groups(user: str) -> list[str]:
    """Those every service account is in."""
    namespace = user.split(":")[2]
    return ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]


async def _leader(api: Client, found: Installation) -> Finding:
    namespace = found.flag("--leader-election-namespace", found.namespace)
    name = found.flag("--leader-election-id", "trainop")
    look = f"kubectl -n {found.namespace} logs deployment/{found.name}"
    where = f"the lease {namespace}/{name}"
    try:
        lease = await api.get(LEASES, namespace, name, dict)
    except Gone:
        return Finding(
            "problem", "leader", f"nobody leads: {where} is not there, no replica has made it", look
        )
    except Refused as error:
        return Finding("warning", "leader", f"you cannot read {where}: {error}", ASK)
    holder, old = lease["spec"].get("holderIdentity") or "", age(lease)
    if not holder:
        return Finding("problem", "leader", f"nobody leads: {where} was given back and not taken", look)
    if old < timedelta(seconds=lease["spec"].get("leaseDurationSeconds") or 15):
        seconds = max(0.0, old.total_seconds())  # clocks differ
        return Finding("ok", "leader", f"{holder}, seen {seconds:.0f} s ago")
    if await _renewed(api, lease):
        return Finding("ok", "leader", f"{holder}, seen just now; your clock is ahead of its")
    return Finding("problem", "leader", f"nobody leads: {where} of {holder} has expired", look)


async def _renewed(api: Client, lease: Raw) -> bool:
    """Whether somebody does so while we look: what an old date means depends on whose clock is right."""
    meta, until = lease["metadata"], time.monotonic() + RENEWED_WITHIN
    while time.monotonic() < until:
        await asyncio.sleep(RENEWED_WITHIN / 6)
        again = await api.get(LEASES, meta["namespace"], meta["name"], dict)
        if again["spec"].get("renewTime") != lease["spec"].get("renewTime"):
            return True
    return False
