"""`trainop run` where nobody watches a terminal: a line for each thing that happens, and the logs if wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from trainop.engine import labels
from trainop.kube.port import EVENTS, PODS, SERVICES, Raw, Resource
from trainop.local import members
from trainop.local.book import Book
from trainop.local.tails import Tails

COLOURS = ("cyan", "magenta", "green", "yellow", "blue")
STATES = {"Succeeded": "green", "Failed": "red", "Restarting": "yellow"}
TOLD_OTHERWISE = {"CrashLoopBackOff", labels.EXITED, labels.NO_REASON}
"""Reasons of events about what a line on the member tells already."""


class Lines:
    def __init__(self, echo: Callable[[str], None], tails: Tails, *, tail: bool) -> None:
        self._echo, self._tails, self._tail = echo, tails, tail
        self._colours: dict[str, str] = {}
        self._width = 0

    def size(self, names: list[str]) -> None:
        """How wide the names of the members will be."""
        self._width = max(map(len, ["job", *names]))

    def heard(self, what: Resource, old: Raw | None, new: Raw) -> None:
        if what == PODS:
            self._pod(old, new)
        elif what == EVENTS:
            self._event(new)
        elif what != SERVICES:
            self._job(old, new)

    def tick(self, book: Book) -> None:
        for pod, _, line in self._tails.new():
            if self._tail:
                name = members.named(book.pods[pod]) if pod in book.pods else pod
                self._echo(f"{click.style(name.ljust(self._width), fg=self._colour(name))} | {line}")

    def _job(self, old: Raw | None, new: Raw) -> None:
        before = {c["type"]: c["status"] for c in _conditions(old)}
        for condition in _conditions(new):
            if condition["status"] == "True" and before.get(condition["type"]) != "True":
                state = click.style(condition["type"], fg=STATES.get(condition["type"]), bold=True)
                self._say("job", f"{state}: {condition['message']}")

    def _pod(self, old: Raw | None, new: Raw) -> None:
        if old and old["metadata"]["uid"] != new["metadata"]["uid"]:
            old = None
        before = {c["name"]: c for c in _containers(old)}
        for container in _containers(new):
            self._container(new, before.get(container["name"], {}), container)

    def _container(self, pod: Raw, old: Raw, new: Raw) -> None:
        name, state, was = members.named(pod), new["state"], old.get("state") or {}
        if len(pod["spec"]["containers"]) > 1:
            name = f"{name}/{new['name']}"
        again = new["restartCount"] != old.get("restartCount", 0)
        if "running" in state and ("running" not in was or again):
            self._say(name, f"started again (restart {new['restartCount']})" if again else "started")
        elif "terminated" in state and "terminated" not in was:
            self._ended(name, pod, state["terminated"])
        elif "waiting" in state and state["waiting"].get("reason") == "CrashLoopBackOff" and state != was:
            self._say(name, state["waiting"]["message"].split(" restarting ")[0])

    def _ended(self, name: str, pod: Raw, ended: Raw) -> None:
        code = members.meaning(ended["exitCode"])
        if ended.get("message"):
            self._say(name, click.style(ended["message"], fg="red"))
        elif pod["metadata"].get("deletionTimestamp"):
            self._say(name, f"stopped with {code}")
        else:
            self._say(name, click.style(f"ended with {code}", fg="red" if ended["exitCode"] else None))

    def _event(self, event: Raw) -> None:
        own = event["reason"] in TOLD_OTHERWISE or event["reason"].startswith(event["involvedObject"]["kind"])
        if event["type"] == "Warning" and not own:
            self._say("job", click.style(f"{event['reason']}: {event['message']}", fg="yellow"))

    def _say(self, who: str, what: str) -> None:
        time = datetime.now().astimezone().strftime("%H:%M:%S")
        self._echo(f"{time}  {who.ljust(self._width)}  {what}")

    def _colour(self, name: str) -> str:
        role = name.partition("-")[0]
        return self._colours.setdefault(role, COLOURS[len(self._colours) % len(COLOURS)])


def _conditions(job: Raw | None) -> list[dict[str, Any]]:
    return ((job or {}).get("status") or {}).get("conditions") or []


def _containers(pod: Raw | None) -> list[dict[str, Any]]:
    status = (pod or {}).get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
