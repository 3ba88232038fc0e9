"""Jobs of 2017 for the scenarios: how they are written, what their members are called, what is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.scenarios.stage import Cast, Stage
from trainop.kube.port import Raw

TF_ROLES = {"Master": 1, "Worker": 2, "PS": 1}
MX_ROLES = {"Scheduler": 1, "Server": 1, "Worker": 2}
KINDS: dict[str, dict[str, Any]] = {
    "TfJob.tensorflow.org": {"replicas": TF_ROLES, "decider": "Master", "server": "PS"},
    "TfJob.mlkube.io": {"replicas": TF_ROLES, "decider": "Master", "server": "PS"},
    "MxJob.mlkube.io": {"replicas": MX_ROLES, "decider": "Scheduler", "server": "Server"},
    "MxJob.mxnet.mlkube.io": {"replicas": MX_ROLES, "decider": "Scheduler", "server": "Server"},
}


class Era(Cast):
    """Writes its jobs as in 2017."""

    @property
    def type_field(self) -> str:
        return "tfReplicaType" if self.kind == "TfJob" else "mxReplicaType"

    def job(self, name: str, *, policy: Any = None, **roles: Any) -> Raw:
        made = super().job(name, policy=policy, **roles)
        spec = {key: value for key, value in made["spec"].items() if key != self.framework.replicas_field}
        if self.kind == "MxJob":
            spec = {"jobMode": "dist"} | spec
        spec["replicaSpecs"] = [
            {self.type_field: role.upper(), **replica}
            for role, replica in made["spec"][self.framework.replicas_field].items()
        ]
        return made | {"spec": spec}


class Players:
    """The members of a job by their names of 2017."""

    def __init__(self, stage: Stage, runtime_id: str) -> None:
        self._stage, self.runtime_id = stage, runtime_id

    def name(self, role: str, index: int = 0) -> str:
        before = f"{self._stage.name}-" if self._stage.cast.kind == "MxJob" else ""
        return f"{before}{role.lower()}-{self.runtime_id}-{index}"

    @property
    def all(self) -> list[str]:
        replicas = self._stage.cast.replicas
        return [self.name(role, i) for role, count in replicas.items() for i in range(count)]

    async def run(self) -> None:
        await self._stage.until_pods_are(self.all)
        for name in self.all:
            await self._stage.kubelet.run(name)


async def submitted(stage: Stage, policy: Mapping[str, Any] | None = None) -> Players:
    await stage.submit(policy)
    return await named(stage)


async def named(stage: Stage) -> Players:
    """The members of a job, once its RuntimeId stands in its spec."""

    async def stamped() -> bool:
        return bool((await stage.job())["spec"].get("RuntimeId"))

    await stage.until(stamped, "a RuntimeId")
    return Players(stage, (await stage.job())["spec"]["RuntimeId"])


async def until_phase(stage: Stage, phase: str, state: str) -> Raw:
    async def there() -> bool:
        status = (await stage.job()).get("status", {})
        return (status.get("phase"), status.get("state")) == (phase, state)

    await stage.until(there, f"phase {phase}, state {state}")
    return dict((await stage.job())["status"])
