"""Whatever stands in a job, a user gets a sentence or a run, and no traceback."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.local.runs import container, tfjob
from trainop.cli import run_options
from trainop.errors import Usage
from trainop.kube.port import Raw
from trainop.local import checks, volumes
from trainop.local.folder import Folder
from trainop.local.options import Options
from trainop.local.podstatus import Container
from trainop.local.recipe import recipe

pytestmark = pytest.mark.thorough
JUNK: tuple[Any, ...] = (None, 5, "", "../x", [1], [{}], {"a": 1})
OPTIONS = Options()
FULL = container(
    "print('hello')",
    args=["a"],
    env=[
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
    envFrom=[{"configMapRef": {"name": "c"}}],
    resources={"limits": {"cpu": 1}, "requests": {"cpu": 1}},
    volumeMounts=[{"name": "v", "mountPath": "/x", "subPath": "y"}],
    workingDir="/",
)
POD = {
    "initContainers": [container("print('hello')", name="first", restartPolicy="Always")],
    "containers": [FULL],
    "volumes": [{"name": "v", "emptyDir": {}}],
}
JOB = tfjob(policy={"cleanPodPolicy": "None"}, Chief={"replicas": 1, "template": {"spec": POD}})
JOB["spec"]["tensorboard"] = {"logDir": "/logs"}


def places(written: Any) -> Iterator[tuple[str | int, ...]]:
    """The way to each part of it."""
    parts: Any = ()
    if isinstance(written, dict | list):
        parts = written.items() if isinstance(written, dict) else enumerate(written)
    for key, value in parts:
        yield (key,)
        yield from ((key, *rest) for rest in places(value))


def spoilt(way: tuple[str | int, ...], junk: Any) -> Raw:
    job: Any = copy.deepcopy(JOB)
    part = job
    for key in way[:-1]:
        part = part[key]
    part[way[-1]] = junk
    return dict(job)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_anywhere_is_told_or_can_be_run(junk: Any, tmp_path: Path) -> None:
    file, folder, told = tmp_path / "job.yaml", Folder(tmp_path / "run"), 0
    for way in places(JOB):
        file.write_text(yaml.safe_dump(spoilt(way, junk)))
        try:
            framework, raw, job = run_options.job(str(file), [], OPTIONS)
        except (Usage, SystemExit):
            told += 1
            continue
        checks.remarks(framework, job, OPTIONS)
        for replica in raw["spec"]["tfReplicaSpecs"].values():
            prepare(replica["template"]["spec"], folder)
    assert told


def prepare(spec: Raw, folder: Folder) -> None:
    """As the node does."""
    pod = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": spec}
    for one in (*(spec.get("initContainers") or ()), *spec["containers"]):
        assert Container(one).name
        mounts = OPTIONS.mounts.beneath(volumes.places(pod, one, folder))
        assert recipe(pod, one, OPTIONS, mounts, os.environ).argv
