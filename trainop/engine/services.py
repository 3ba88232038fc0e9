"""The headless service of a member: its stable name in DNS, there before the member is ready."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainop import template
from trainop.engine import labels, pods
from trainop.framework import Framework
from trainop.model import Job, Member


def manifest(framework: Framework[Any], job: Job[Any], member: Member) -> dict[str, Any]:
    ours = labels.of_member(framework, job, member)
    container = template.container(job.replicas[member.role].template, framework.container)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": member.name,
            "namespace": job.namespace,
            "labels": ours,
            "ownerReferences": [labels.owner(job)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": ours,
            "publishNotReadyAddresses": True,
            "ports": list(_ports(pods.ports(framework, container))),
        },
    }


def _ports(written: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """In order, protocol kept. A service wants a name for each and no number twice; a pod does not care."""
    taken = set()
    for port in written:
        number, protocol = port["containerPort"], port.get("protocol", "TCP")
        if (number, protocol) not in taken:
            taken.add((number, protocol))
            yield {
                "name": port.get("name") or f"port-{number}-{protocol.lower()}",
                "port": number,
                "protocol": protocol,
            }
