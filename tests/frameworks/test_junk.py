"""Whatever is written into a job of 2017, and whatever stands in its status: it is understood or refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from trainop.engine.plan import plan
from trainop.files.checker import Checker
from trainop.files.documents import documents
from trainop.framework import Framework
from trainop.model import World
from trainop.parse import parse
from trainop.registry import frameworks

DIALECTS = [framework for framework in frameworks().values() if framework.older]
KEYS = (
    "RuntimeId", "replicaSpecs", "replica_specs", "tfImage", "tensorboard", "logDir", "volumes", "serviceType",
    "terminationPolicy", "chief", "replicaName", "replicaIndex", "schedulerName", "cleanupPodPolicy", "runPolicy",
    "backoffLimit", "jobMode", "replicas", "tfPort", "PsRootPort", "tfReplicaType", "mxReplicaType", "template",
    "IsDefaultPS", "tf_replica_type", "Mx_replica_type", "active", "spec", "containers", "name",
    "image", "ports", "metadata", "labels", "env",
)  # fmt: skip
WORDS = (
    "",
    "MASTER",
    "PS",
    "worker",
    "SCHEDULER",
    "SERVER",
    "local",
    "dist",
    "tensorflow",
    "mxnet",
    "Done",
    "r",
    "-",
    "Ü",
)
plain = st.one_of(st.none(), st.booleans(), st.integers(-1, 70000), st.sampled_from(WORDS))
anything = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)


statuses = anything | st.fixed_dictionaries(
    {}, optional={"replicaStatuses": anything, "phase": plain, "state": plain, "conditions": anything}
)


def pods(container: str) -> Any:
    """Templates that are almost right."""
    one = st.fixed_dictionaries(
        {"name": st.just(container)}, optional={"image": st.just("i"), "ports": anything}
    )
    right = st.fixed_dictionaries(
        {"spec": st.fixed_dictionaries({"containers": st.lists(one | anything, max_size=2)})}
    )
    return right | anything


TYPES = ("MASTER", "PS", "WORKER", "SCHEDULER", "SERVER", "chief")
chiefs = st.fixed_dictionaries(
    {
        "chief": st.fixed_dictionaries(
            {"replicaName": st.sampled_from(TYPES)}, optional={"replicaIndex": plain}
        )
    }
)


def specs(container: str) -> Any:
    """Specs that are almost right, and others."""
    types = st.sampled_from(TYPES)
    entry = st.fixed_dictionaries(
        {"template": pods(container)},
        optional={
            "tfReplicaType": types,
            "mxReplicaType": types,
            "replicas": plain,
            "tfPort": plain,
            "psRootPort": plain,
        },
    )
    right = st.fixed_dictionaries(
        {
            "replicaSpecs": st.lists(entry | anything, max_size=4),
            "jobMode": st.sampled_from(("local", "dist", "")),
        },
        optional={
            "tensorboard": anything,
            "terminationPolicy": anything | chiefs,
            "RuntimeId": plain,
            "tfImage": plain,
        },
    )
    return right | anything


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda it: it.word)
@settings(deadline=None, derandomize=True, max_examples=100, database=None)
@given(data=st.data())
def test_nothing_that_is_written_brings_the_operator_down(
    dialect: Framework[Any], data: st.DataObject
) -> None:
    metadata = {"name": "junk", "uid": "1", "resourceVersion": "1", "generation": 1}
    raw = {"metadata": metadata, "spec": data.draw(specs(dialect.container)), "status": data.draw(statuses)}
    job = parse(dialect, raw)
    answer = plan(dialect, job, World(now=NOW))
    told = dialect.manner.tell(job, answer.status)
    assert parse(dialect, raw | {"status": told}).status == answer.status
    assert all(str(problem) for problem in job.problems)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda it: it.word)
@settings(deadline=None, derandomize=True, max_examples=50, database=None)
@given(data=st.data())
def test_what_the_operator_would_refuse_is_a_mistake_in_a_file(
    dialect: Framework[Any], data: st.DataObject
) -> None:
    identity = {"apiVersion": dialect.gvk.api_version, "kind": dialect.kind, "metadata": {"name": "junk"}}
    raw = identity | {"spec": data.draw(specs(dialect.container))}
    report = Checker(frameworks()).check(documents("job.json", json.dumps(raw)))
    if parse(dialect, raw).problems:
        assert report.mistakes
    assert all(it.path.startswith(("spec", "metadata")) for it in report.mistakes)
