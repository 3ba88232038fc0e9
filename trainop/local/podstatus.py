"""What a kubelet writes into the status of a pod: the states of its containers, and the phase they make."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

from trainop.api.base import rfc3339
from trainop.kube.port import Raw
from trainop.local.recipe import ADDRESS


def now() -> str:
    return rfc3339(datetime.now(UTC))


@dataclass
class Container:
    """One container of a pod: what is known of it."""

    spec: Raw
    restarts: int = 0
    state: Raw = field(default_factory=lambda: {"waiting": {"reason": "PodInitializing"}})
    last: Raw = field(default_factory=dict)
    """How it ended the time before."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """It has been started, or could not be."""

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def sidecar(self) -> bool:
        """Of an init container: a native one, which runs beside the others."""
        return bool(self.spec.get("restartPolicy") == "Always")

    @property
    def exit_code(self) -> int | None:
        """None: it has not ended."""
        ended = self.state.get("terminated")
        return int(ended["exitCode"]) if ended else None

    def runs(self) -> None:
        self.state = {"running": {"startedAt": now()}}
        self.begun.set()

    def ended(self, code: int, reason: str = "", message: str = "") -> None:
        began = (self.state.get("running") or {}).get("startedAt", now())
        told = {"exitCode": code, "reason": reason or ("Error" if code else "Completed")}
        told |= {"startedAt": began, "finishedAt": now()}
        self.state = {"terminated": told | ({"message": message} if message else {})}
        self.begun.set()

    def waits(self, reason: str, message: str) -> None:
        self.last, self.state = self.state, {"waiting": {"reason": reason, "message": message}}

    def status(self) -> Raw:
        image = str(self.spec.get("image", ""))
        running = "running" in self.state
        return {
            "name": self.name,
            "image": image,
            "imageID": "",
            "ready": running,
            "started": running,
            "restartCount": self.restarts,
            "state": self.state,
            "lastState": self.last,
        }


def phase(members: list[Container], *, over: bool) -> str:
    """`over`: nothing of the pod will be started any more."""
    if over:
        codes = [c.exit_code for c in members]
        return "Succeeded" if all(code == 0 for code in codes) else "Failed"
    begun = any("waiting" not in c.state or c.last for c in members)
    return "Running" if begun else "Pending"


def status(first: list[Container], members: list[Container], *, since: str, over: bool) -> Raw:
    told: Raw = {
        "phase": phase(members, over=over),
        "hostIP": ADDRESS,
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "startTime": since,
        "containerStatuses": [c.status() for c in members],
    }
    if first:
        told["initContainerStatuses"] = [c.status() for c in first]
    return told
