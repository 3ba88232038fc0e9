"""`make demo`: a TFJob and an MXJob from YAML to Succeeded, on an API server in memory; needs no cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from tests.kubelet import Kubelet
from trainop.engine import pods
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, Raw
from trainop.model import Job
from trainop.operator.controller import Controller
from trainop.parse import parse
from trainop.registry import frameworks

EXAMPLES = ("examples/tensorflow/tfjob.yaml", "examples/mxnet/mxjob.yaml")
ROOT = Path(__file__).parents[1]
NAMESPACE = "default"
console = Console(highlight=False, soft_wrap=False)


async def main() -> None:
    for path in EXAMPLES:
        raw = yaml.safe_load((ROOT / path).read_text())
        framework = next(f for f in frameworks().values() if f.kind == raw["kind"])
        console.rule(f"[bold]{path}", align="left")
        rendered(framework, parse(framework, raw, strict=True))
        await driven(framework, raw)
    console.rule("[bold green]both jobs Succeeded", align="left")


def rendered(framework: Framework[Any], job: Job[Any]) -> None:
    """The pods the operator would make, and what each of them is told about the others."""
    members = topology(framework, job)
    environment = framework.bootstrap(job, members)
    table = Table("pod", "address", "restarts", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for member in members:
        policy = pods.pod_restart_policy(job.replicas[member.role].restart_policy)
        table.add_row(member.name, f"{member.address}:{member.port}", policy)
    console.print(table)
    last = list(members)[-1]
    console.print(f"\n[dim]what {last.name} finds in its environment:[/]")
    for name, value in environment(last).items():
        shown = json.dumps(json.loads(value), indent=1) if value.startswith("{") else value
        console.print(f"  [cyan]{name}[/]={shown}", soft_wrap=True)


async def driven(framework: Framework[Any], raw: Raw) -> None:
    """The job's life: its pods run, one is killed and comes back, the deciding role ends well."""
    memory = Memory()
    controller = Controller(memory, {framework.gvk: framework})
    kubelet = Kubelet(memory, NAMESPACE)
    job = parse(framework, raw, strict=True)
    members = list(topology(framework, job))
    console.print("\n[dim]its life:[/]")
    async with controller.running():
        watch = asyncio.create_task(_watch(memory, controller, framework))
        await memory.create(resource(framework), NAMESPACE, raw, dict)
        await _state(memory, framework, job, "Created")
        for member in members:
            await kubelet.run(member.name)
        await _state(memory, framework, job, "Running")
        console.print(f"  [yellow]! {members[-1].name} is killed (exit code 137)")
        await kubelet.exit(members[-1].name, 137)
        await _state(memory, framework, job, "Restarting", "Running")
        for member in members:
            if member.role in framework.deciding(job.replicas):
                await kubelet.exit(member.name)
        await _state(memory, framework, job, "Succeeded")
        watch.cancel()
    for event in (await memory.list(EVENTS, dict)).items:
        console.print(f"    [dim]{event['type']:8}{event['reason']:24}{event['message']}", soft_wrap=True)
    console.print()


async def _state(memory: Memory, framework: Framework[Any], job: Job[Any], *wanted: str) -> None:
    since = "0"
    async for change in memory.watch(resource(framework), dict, since=since):
        status = change.object.get("status", {})
        conditions = status.get("conditions") or [{"type": "", "message": ""}]
        if conditions[-1]["type"] in wanted:
            state, message = conditions[-1]["type"], conditions[-1]["message"]
            console.print(f"  [green]{state:<11}[/]{status['progress']:<5} {message}")
            return


async def _watch(memory: Memory, controller: Controller, framework: Framework[Any]) -> None:
    async for change in memory.watch(resource(framework), dict, since="0"):
        controller.job_seen(framework, change.object, deleted=change.type == "DELETED")


if __name__ == "__main__":
    asyncio.run(main())
