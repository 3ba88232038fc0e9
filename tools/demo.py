"""`make demo`: a TFJob and an MXJob from YAML to Succeeded, on an API server in memory; needs no cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from tests.kubelet import Kubelet
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, Raw
from trainop.model import Job, Member
from trainop.operator.controller import Controller
from trainop.parse import parse
from trainop.registry import frameworks

EXAMPLES = ("examples/tensorflow/tfjob.yaml", "examples/mxnet/mxjob.yaml")
ROOT = Path(__file__).parents[1]
NAMESPACE = "default"
console = Console(highlight=False)


async def main() -> None:
    for path in EXAMPLES:
        raw = yaml.safe_load((ROOT / path).read_text())
        framework = next(f for f in frameworks().values() if f.kind == raw["kind"])
        job = parse(framework, raw, strict=True)
        members = list(topology(framework, job))
        console.rule(f"[bold]{path}", align="left")
        show_rendered(framework, job, members)
        await drive(framework, job, members, raw)
    console.rule("[bold green]both jobs Succeeded", align="left")


def show_rendered(framework: Framework[Any], job: Job[Any], members: list[Member]) -> None:
    """The pods the operator would make, and what one of them is told about the others."""
    table = Table(
        "pod and service", "port", "restartPolicy", box=None, header_style="dim", padding=(0, 2, 0, 0)
    )
    for member in members:
        policy = job.replicas[member.role].restart_policy
        table.add_row(member.name, str(member.port), policy)
    console.print(table)
    last = members[-1]
    console.print(f"\n[dim]what {last.name} finds in its environment:[/]")
    for name, value in framework.bootstrap(job, topology(framework, job))(last).items():
        console.print(f"  [cyan]{name}[/]={value}", soft_wrap=True)


async def drive(framework: Framework[Any], job: Job[Any], members: list[Member], raw: Raw) -> None:
    """The job's life: its pods run, one is killed and comes back, the deciding role ends well."""
    console.print("\n[dim]its life:[/]")
    memory = Memory()
    kubelet = Kubelet(memory, NAMESPACE)
    async with operator(memory, framework) as states:
        await memory.create(resource(framework), NAMESPACE, raw, dict)
        await until(states, "Created")
        for member in members:
            await kubelet.run(member.name)
        await until(states, "Running")
        console.print(f"  [yellow]{members[-1].name} is killed: exit code 137")
        await kubelet.exit(members[-1].name, 137)
        await until(states, "Restarting")
        await until(states, "Running")
        for member in members:
            if member.role in framework.deciding(job):
                await kubelet.exit(member.name)
        await until(states, "Succeeded")
    console.print("\n[dim]what kubectl describe would tell:[/]")
    told = (await memory.list(EVENTS, dict)).items
    for event in sorted(told, key=lambda e: int(e["metadata"]["resourceVersion"])):
        console.print(f"  [dim]{event['type']:8}{event['reason']:24}[/]{event['message']}", soft_wrap=True)
    console.print()


@asynccontextmanager
async def operator(memory: Memory, framework: Framework[Any]) -> AsyncIterator[asyncio.Queue[str]]:
    """The operator at work, and the states its jobs pass through."""
    controller = Controller(memory, {framework.gvk: framework})
    states: asyncio.Queue[str] = asyncio.Queue()

    async def watch() -> None:
        async for change in memory.watch(resource(framework), dict, since="0"):
            status = change.object.get("status") or {}
            for newest in (status.get("conditions") or [])[-1:]:
                states.put_nowait(newest["type"])
                console.print(
                    f"  [green]{newest['type']:<11}[/]{status['progress']:<5}{newest['message']}",
                    soft_wrap=True,
                )

    async with controller.running():
        watching = asyncio.create_task(watch())
        yield states
        watching.cancel()


async def until(states: asyncio.Queue[str], wanted: str) -> None:
    while await states.get() != wanted:
        pass


if __name__ == "__main__":
    asyncio.run(main())
