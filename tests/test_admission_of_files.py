"""`trainop validate` and the API server, asked to be as strict as kubectl asks it, refuse the same jobs."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.admission import GOOD, Server, Tweak, job
from tests.admission_tweaks import OF_SPELLING, OF_TEMPLATES, TWEAKS
from tests.cluster.controlplane import Cluster
from trainop import registry
from trainop.files.checker import Checker
from trainop.files.documents import documents

if TYPE_CHECKING:  # it takes most of a second to import
    from kubernetes.client import CoreV1Api

PLACES = [*TWEAKS.items(), *OF_TEMPLATES.items(), *OF_SPELLING.items()]
SINGLE: list[Tweak] = [(place, value) for place, values in PLACES for value in values]
SPECS: list[tuple[Tweak, ...]] = [
    (),
    *((tweak,) for tweak in SINGLE),
    *itertools.islice(itertools.combinations(SINGLE, 2), 0, None, 79),
]


@pytest.fixture(scope="session")
def server(crds: Cluster, core_api: CoreV1Api) -> Server:
    return Server(core_api)


def read_by_kubectl(body: dict[str, Any]) -> dict[str, Any]:
    """In the JSON that kubectl makes of YAML a number without a fraction is whole."""

    def number(text: str) -> float | int:
        return int(float(text)) if float(text).is_integer() else float(text)

    read: dict[str, Any] = json.loads(json.dumps(body), parse_float=number)
    return read


@pytest.mark.parametrize("name", GOOD)
def test_a_thousand_jobs_are_refused_by_both_or_by_none(server: Server, name: str) -> None:
    framework = registry.by_name()[name]
    checker = Checker({framework.gvk: framework})
    refused, differences = 0, []
    for tweaks in SPECS:
        body = job(framework, *tweaks)
        found = checker.check(documents("job.json", json.dumps(body))).mistakes
        complaints = server.complaints(framework, read_by_kubectl(body), strict=True)
        refused += bool(complaints)
        if bool(complaints) != bool(found):
            differences.append((tweaks, complaints, [(m.path, m.message) for m in found]))
    assert differences == []
    assert len(SPECS) > 1000
    assert 300 < refused < len(SPECS) - 100
