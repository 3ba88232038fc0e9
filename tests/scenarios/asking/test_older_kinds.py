"""`trainop status`, `logs`, `explain` and `convert` on jobs of 2017 in a real API server, of every kind there was."""

from __future__ import annotations

import pytest

from tests.cluster.controlplane import Cluster
from tests.node import Node
from tests.scenarios.asking.person import Person
from tests.scenarios.casting import known_frameworks
from tests.scenarios.era import KINDS, Era, submitted, until_phase
from tests.scenarios.stage import Cast, Stage


@pytest.fixture(params=KINDS)
def cast(request: pytest.FixtureRequest) -> Cast:
    return Era(known_frameworks()[request.param], **KINDS[request.param])


async def test_a_job_of_2017_is_shown_its_logs_are_read_and_its_end_is_explained(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    players, decider = await submitted(stage), stage.cast.decider
    await players.run()
    await until_phase(stage, "Running", "Running")
    for name in players.all:
        node.bind(crds, stage.namespace, name)
    node.write(stage.namespace, players.name(decider), "I decide")

    head, row = (await person.says("status")).stdout.splitlines()
    assert head.split()[:3] == ["NAME", "KIND", "STATE"]
    assert row.split()[:3] == [stage.name, f"{stage.cast.kind}.{stage.cast.framework.group}", "Running"]
    answer = await person.asks("status", f"{stage.cast.framework.word}/{stage.name}")
    assert answer["apiVersion"] == stage.cast.framework.gvk.api_version
    assert sorted(member["pod"] for member in answer["members"]) == sorted(players.all)
    assert f"{decider.lower()}-0 | I decide" in (await person.says("logs", stage.name)).stdout.replace(
        "  ", " "
    )

    await stage.kubelet.exit(players.name(decider), 3)
    await until_phase(stage, "Done", "Failed")
    finding = await person.explains(stage.name)
    assert f"{decider.lower()}-0 has failed with exit code 3" in str(finding)
    converted = (await person.says("convert", f"{stage.cast.framework.word}/{stage.name}")).stdout
    assert converted.startswith(f"apiVersion: kubeflow.org/v1\nkind: {stage.cast.kind[:2].upper()}Job\n")


async def test_at_80_columns_nothing_is_broken(stage: Stage, person: Person) -> None:
    players = await submitted(stage)
    await players.run()
    await until_phase(stage, "Running", "Running")
    for words in (("status",), ("status", stage.name), ("explain", stage.name)):
        shown = await person.at_a_terminal(*words, NO_COLOR="1")
        assert shown
        assert [line for line in shown.splitlines() if len(line) > 80] == []
