"""The service account of a release with the chart's own rights, for an operator that is to have no others."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chart.helm import Helm, Raw, one
from tests.chart.rights import kubeconfig_of
from tests.cluster import audit, waiting
from tests.cluster.controlplane import Cluster, Refused
from trainop.framework import Framework

RBAC = ("--show-only", "templates/rbac.yaml", "--set", "rbac.aggregate=false")
REFUSAL = re.compile(r'is forbidden: User "[^"]+" cannot .*')
"""How an API server says that a right is missing; a quota says it otherwise."""


@dataclass(frozen=True)
class Account:
    cluster: Cluster
    namespace: str
    name: str
    kubeconfig: Path

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """Of an operator that is this account."""
        return {"KUBECONFIG": str(self.kubeconfig), "POD_NAMESPACE": self.namespace}

    def requests(self) -> list[audit.Request]:
        assert self.cluster.audit, "only a control plane of ours tells"
        return list(audit.requests(self.cluster.audit, self.user))

    @property
    def token(self) -> str:
        return str(json.loads(self.kubeconfig.read_text())["users"][0]["user"]["token"])

    def check(self, log: Path | None = None) -> None:
        """Nothing was asked for that the chart does not grant; `log` is the operator's."""
        refusals = REFUSAL.findall(log.read_text()) if log else []
        if self.cluster.audit:  # it has those, too, that nobody writes a line about
            refusals += [str(request) for request in self.requests() if request.forbidden]
        assert not refusals, f"{self.user} was refused:\n" + "\n".join(refusals)


def objects(helm: Helm, namespace: str, *words: str) -> list[Raw]:
    """ServiceAccount, Roles and bindings; `words` set values."""
    return helm.objects(*RBAC, *words, namespace=namespace)


def only_in(*namespaces: str, known: Collection[Framework[Any]] = (), gang_scheduler: str = "") -> list[str]:
    """The values for an operator that serves these namespaces, and kinds that the chart does not know."""
    values = [f"namespaces={{{','.join(namespaces)}}}", f"gangSchedulerName={gang_scheduler}"]
    dialects = {dialect.gvk for framework in known for dialect in framework.dialects}
    others = [it for it in known if it.group != "kubeflow.org" and it.gvk not in dialects]
    for number, framework in enumerate(others):
        fields = {"group": framework.group, "kind": framework.kind, "resource": framework.plural}
        values += [f"extraJobs[{number}].{field}={value}" for field, value in fields.items()]
    return ["--set", ",".join(values)]


def install(cluster: Cluster, made: list[Raw], folder: Path) -> Account:
    """In a namespace that is there. Returns when the API server goes by the rights."""
    cluster.run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    metadata = one(made, "ServiceAccount")["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    account = Account(cluster, namespace, name, kubeconfig_of(cluster, name, namespace, folder))
    waiting.until(f"{account.user} has its rights", lambda: _in_force(account, made))
    return account


@contextmanager
def granted(cluster: Cluster, helm: Helm, folder: Path, *namespaces: str) -> Iterator[Account]:
    """An account in the first of the namespaces with the chart's rights in all of them; at the end nothing must have
    been refused to it."""
    account = install(cluster, objects(helm, namespaces[0], *only_in(*namespaces)), folder)
    yield account
    account.check()


def _in_force(account: Account, made: list[Raw]) -> bool:
    """One right of each Role: the API server hears of a Role as a whole."""
    roles = [item for item in made if item["kind"] in ("Role", "ClusterRole") and item["rules"]]
    return all(_may(account, role) for role in roles)


def _may(account: Account, role: Raw) -> bool:
    rule = role["rules"][0]
    resource = ".".join(filter(None, (rule["resources"][0], rule["apiGroups"][0])))
    resource = "/".join([resource, *rule.get("resourceNames", ())])
    where = role["metadata"].get("namespace", "default")
    try:
        account.cluster.run("auth", "can-i", rule["verbs"][0], resource, "-n", where, f"--as={account.user}")
    except Refused:  # its way of saying no
        return False
    return True
