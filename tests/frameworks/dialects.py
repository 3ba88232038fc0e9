"""Jobs of 2017 for tests: what is written, what becomes of it, and what is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.builders import NOW, Raw
from trainop.engine.children import Children
from trainop.engine.plan import plan
from trainop.framework import Framework
from trainop.model import CreatePod, CreateService, Job, SeenContainer, SeenPod, SeenService, World
from trainop.parse import parse
from trainop.registry import frameworks

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "legacy.md"


def dialect(group: str, kind: str) -> Framework[Any]:
    (found,) = (f for gvk, f in frameworks().items() if (gvk.group, gvk.kind) == (group, kind))
    return found


def a_raw(framework: Framework[Any], *replicas: Any, name: str = "example-job", **spec: Any) -> Raw:
    return {
        "apiVersion": framework.gvk.api_version,
        "kind": framework.kind,
        "metadata": {"name": name, "uid": "job-uid", "resourceVersion": "1", "generation": 1},
        "spec": {"RuntimeId": "r", "replicaSpecs": list(replicas), **spec},
    }


def a_replica(container: str, **fields: Any) -> Raw:
    template = {
        "spec": {"containers": [{"name": container, "image": "train:1"}], "restartPolicy": "OnFailure"}
    }
    return {"template": template, **fields}


def reason(framework: Framework[Any], raw: Mapping[str, Any]) -> str:
    """What a job that breaks a rule tells; it is in phase Failed."""
    job = parse(framework, raw)
    status = framework.manner.tell(job, plan(framework, job, World(now=NOW)).status)
    assert (status["phase"], status["state"]) == ("Failed", "Failed"), status
    return str(status["reason"])


def on_the_page(sentence: str) -> bool:
    """docs/reference/legacy.md has it; TYPE and its like stand for any word there."""
    table = PAGE.read_text().partition("## Why a job could not be read")[2]
    written = re.findall(r"`([^`]+)`", table.partition("| sentence |")[2])
    patterns = (re.sub("TYPE|NAME|MODE|INDEX", r"\\S+", re.escape(it)) for it in written)
    return any(re.search(pattern, sentence) for pattern in patterns)


def made(framework: Framework[Any], job: Job[Any]) -> tuple[dict[str, Raw], dict[str, Raw]]:
    """The pods and services of a new job, by name."""
    assert not job.problems, job.problems
    children, pods, services = Children(framework, job), {}, {}
    for action in plan(framework, job, World(now=NOW)).actions:
        if isinstance(action, CreatePod):
            pods[action.member.name] = children.manifest(action)
        elif isinstance(action, CreateService):
            services[action.member.name] = children.manifest(action)
    return pods, services


def env(pod: Raw) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in pod["spec"]["containers"][0].get("env", ())}


def told(framework: Framework[Any], job: Job[Any], **codes: int | tuple[int, str] | None) -> Raw:
    """The status when the first member of each role has ended with this code, and for this reason; all others
    run. `Master=None` runs, too."""
    seen: dict[str, list[Any]] = {"pods": [], "services": []}
    for role, replica in job.replicas.items():
        for index in range(replica.replicas):
            given = codes.get(role) if index == 0 else None
            code, why = given if isinstance(given, tuple) else (given, "")
            phase = "Running" if code is None else "Failed" if code else "Succeeded"
            name = framework.manner.child_name(job, role, index)
            container = SeenContainer(framework.container, code, why)
            seen["pods"].append(SeenPod(name, name, NOW, phase, containers=(container,)))
            seen["services"].append(SeenService(name, name))
    answer = plan(framework, job, World(pods=tuple(seen["pods"]), services=tuple(seen["services"]), now=NOW))
    return dict(framework.manner.tell(job, answer.status))
