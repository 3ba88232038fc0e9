"""Jobs of one name, one of each kind that trains with the same framework: nobody's service leads to another's pods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from tests.builders import Raw
from tests.frameworks.dialects import a_raw, a_replica, made
from trainop.framework import Framework
from trainop.parse import parse
from trainop.registry import by_name

ROLES = {"tensorflow": ("Master", "Worker", "PS"), "mxnet": ("Scheduler", "Server", "Worker")}


def jobs(framework: Framework[Any]) -> Iterator[tuple[Framework[Any], Raw]]:
    """The same training, as each of the kinds has it."""
    roles = ROLES[framework.name]
    board: Raw = {"tensorboard": {"logDir": "/logs"}} if framework.companions else {}
    for kind in (framework, *framework.dialects):
        container = a_replica(kind.container)
        if kind is framework:
            mode = {"jobMode": "MXTrain"} if framework.name == "mxnet" else {}
            yield (
                kind,
                a_raw(kind)
                | {"spec": {**mode, **board, kind.replicas_field: dict.fromkeys(roles, container)}},
            )
        else:
            mode = {"jobMode": "dist"} if framework.name == "mxnet" else {}
            type_ = "mxReplicaType" if framework.name == "mxnet" else "tfReplicaType"
            yield kind, a_raw(kind, *({**container, type_: role.upper()} for role in roles), **mode, **board)


@pytest.mark.parametrize("name", ROLES)
def test_a_job_and_its_namesakes_do_not_find_each_others_members(name: str) -> None:
    found = {kind.word: made(kind, parse(kind, raw)) for kind, raw in jobs(by_name()[name])}
    assert len(found) == 3
    for (_, services), (other, _) in permutations(found.values(), 2):
        for service in services.values():
            selector = service["spec"]["selector"].items()
            assert not [name for name, pod in other.items() if selector <= pod["metadata"]["labels"].items()]
