"""Who may do what: rendered Roles as sets that can be compared, and credentials of a service account."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tests.chart.helm import Raw
from tests.cluster.controlplane import Cluster, Refused

Right = tuple[str, str, str]
"""API group, resource, verb."""


def rights(roles: Iterable[Raw]) -> set[Right]:
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def may(cluster: Cluster, who: str, verb: str, resource: str, namespace: str) -> bool:
    """What the API server says of it."""
    name, _, subresource = resource.partition("/")
    group = ".kubeflow.org" if name in ("tfjobs", "mxjobs") else ""
    try:
        words = ["auth", "can-i", verb, f"{name}{group}", "-n", namespace, f"--as={who}"]
        said = cluster.run(*words, *([f"--subresource={subresource}"] if subresource else []))
    except Refused:  # its way of saying no
        return False
    return said.strip() == "yes"


def kubeconfig_of(cluster: Cluster, account: str, namespace: str, folder: Path) -> Path:
    """For a process that is to have the rights of a service account and no others."""
    config = json.loads(cluster.run("config", "view", "--raw", "-o", "json"))
    token = cluster.run("create", "token", account, "-n", namespace).strip()
    for user in config["users"]:
        user["user"] = {"token": token}
    path = folder / f"{account}.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path
