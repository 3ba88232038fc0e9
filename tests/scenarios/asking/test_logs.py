"""`trainop logs` on a real API server that asks a node for them."""

from __future__ import annotations

import json

from tests.cluster.controlplane import Cluster
from tests.node import Node
from tests.scenarios.asking.conftest import Person
from tests.scenarios.stage import Stage


async def bound(stage: Stage, crds: Cluster, node: Node) -> list[str]:
    """All members run on the node."""
    await stage.submit()
    await stage.run_all()
    for name in stage.children():
        node.bind(crds, stage.namespace, name)
    return stage.children()


async def test_all_members_are_interleaved_in_the_order_of_time(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await bound(stage, crds, node)
    for word in ("one", "two"):
        for role in ("Worker", "Chief"):
            node.write(stage.namespace, stage.child(role), f"{role} {word}")
    result = await person.says("logs", stage.name)
    assert result.stdout.splitlines() == [
        "worker-0 | Worker one",
        "chief-0  | Chief one",
        "worker-0 | Worker two",
        "chief-0  | Chief two",
    ]
    lines = [
        json.loads(line)
        for line in (await person.says("logs", "tfjob/job", "-o", "json")).stdout.splitlines()
    ]
    assert lines[0].pop("time").startswith("20")
    assert lines[0] == {
        "job": "job",
        "kind": "TFJob",
        "namespace": stage.namespace,
        "role": "Worker",
        "index": 0,
        "attempt": 0,
        "message": "Worker one",
    }
