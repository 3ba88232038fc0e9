"""An operator as its Deployment tells of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from trainop.framework import Framework
from trainop.kube.port import Raw


class Installation(NamedTuple):
    """A Deployment of an operator: ours, or the old one, whose flags are called the same."""

    namespace: str
    name: str
    replicas: int
    ready: int
    account: str
    flags: tuple[str, ...]
    confined: str = ""
    """Namespaces that the environment names; flags go before it."""

    @classmethod
    def seen(cls, deployment: Raw) -> Installation:
        pod = deployment["spec"]["template"]["spec"]
        # Beside ours there may be one that a mesh or a policy has put there.
        container = next((it for it in pod["containers"] if it["name"] == "operator"), pod["containers"][0])
        env = {it["name"]: it.get("value", "") for it in container.get("env", ())}
        return cls(
            namespace=deployment["metadata"]["namespace"],
            name=deployment["metadata"]["name"],
            replicas=deployment["spec"].get("replicas", 1),
            ready=deployment.get("status", {}).get("readyReplicas", 0),
            account=pod.get("serviceAccountName", "default"),
            flags=(*container.get("command", ()), *container.get("args", ())),
            confined=env.get("KUBEFLOW_NAMESPACE", ""),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def values(self, flag: str) -> list[str]:
        """Of a flag that may be repeated: `--flag=value`, or `--flag value`."""
        pairs = zip(self.flags, (*self.flags[1:], ""), strict=True)
        return [
            word.partition("=")[2] if "=" in word else after
            for word, after in pairs
            if word.partition("=")[0] == flag
        ]

    def flag(self, name: str, default: str = "") -> str:
        """The last one counts."""
        return (self.values(name) or [default])[-1]

    @property
    def served(self) -> list[str]:
        """Namespaces; empty: all of them."""
        told = self.values("--namespace") or [self.confined]
        return [name for words in told for name in words.split(",") if name]

    def shares(self, other: Installation) -> list[str]:
        """The namespaces that both serve."""
        if self.served and other.served:
            return sorted(set(self.served) & set(other.served))
        return sorted(self.served or other.served) or ["every namespace"]

    def serves(self, framework: Framework[Any]) -> bool:
        kinds = self.values("--enable-scheme")
        return not kinds or any(map(framework.gvk.is_called, kinds))

    @property
    def elects(self) -> bool:
        return "--leader-elect" in self.flags
