"""`trainop render` shows exactly what the operator makes, on both stages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cluster.controlplane import Cluster
from tests.scenarios.casting import PARTS, THIRD_PARTY
from tests.scenarios.operators import in_memory
from tests.scenarios.stage import Cast, Stage
from trainop import cli
from trainop.engine import gang
from trainop.framework import Framework
from trainop.kube.cluster import pod_groups
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.model import Settings

SET_BY_SERVERS = {
    "creationTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
}
"""In metadata. The owner is set by the operator, and only then is it known."""
Items = dict[tuple[str, str], Raw]


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Raw]]:
    """The command itself, with a file on stdin."""
    monkeypatch.syspath_prepend(THIRD_PARTY)

    def render(job: Raw, *words: str) -> list[Raw]:
        result = CliRunner().invoke(cli.main, ["render", "-", "-o", "json", *words], input=json.dumps(job))
        assert (result.exit_code, result.stderr) == (0, "")
        items: list[Raw] = json.loads(result.stdout)["items"]
        return items

    return render


def by_name(items: list[Raw]) -> Items:
    return {(item["kind"], item["metadata"]["name"]): _own(item) for item in items}


def _own(item: Raw) -> Raw:
    """Without what servers set: another one each time it is created."""
    metadata = {name: value for name, value in item["metadata"].items() if name not in SET_BY_SERVERS}
    text = json.dumps({"spec": item["spec"], "metadata": metadata})
    own: Raw = json.loads(re.sub("kube-api-access-[a-z0-9]{5}", "kube-api-access", text))
    return own


async def test_what_is_rendered_is_what_the_operator_makes(
    stage: Stage, render: Callable[..., list[Raw]], request: pytest.FixtureRequest, stage_name: str
) -> None:
    job = stage.cast.job(stage.name, **{stage.cast.server: {"restartPolicy": "ExitCode"}})
    rendered = render(job, "--namespace", stage.namespace)
    if stage_name == "cluster":
        # What a real one fills in, it fills in here, too.
        cluster: Cluster = request.getfixturevalue("crds")
        body = {"apiVersion": "v1", "kind": "List", "items": rendered}
        answer = cluster.run("create", "--dry-run=server", "-o", "yaml", "-f", "-", stdin=json.dumps(body))
        rendered = list(yaml.safe_load_all(answer))
    await stage.submit(**{stage.cast.server: {"restartPolicy": "ExitCode"}})
    await stage.until_pods_are(stage.children())
    await stage.until_services_are(stage.children())
    pods = [{"kind": "Pod", **pod} for pod in (await stage.pods()).values()]
    services = [{"kind": "Service", **service} for service in (await stage.services()).values()]
    assert by_name(rendered) == by_name([*pods, *services])


@pytest.mark.parametrize("scheduler", ["volcano", "scheduler-plugins-scheduler"])
@pytest.mark.parametrize("kind", ["TFJob", "MXJob"])
async def test_a_gang_with_its_group_and_with_what_stands_beside_it(
    known: dict[str, Framework[Any]], render: Callable[..., list[Raw]], scheduler: str, kind: str
) -> None:
    settings = Settings(gang_scheduler=scheduler, cluster_domain="cluster.local")
    cast = Cast(known[kind], **PARTS[kind])
    job = cast.job("gang", policy={"schedulingPolicy": {"queue": "vision", "minResources": {"cpu": "1.5"}}})
    job["metadata"]["annotations"] = {"note": "kept"}
    if kind == "TFJob":
        job["spec"]["tensorboard"] = {"logDir": "/logs"}
    rendered = render(job, "--gang-scheduler-name", scheduler, "--cluster-domain", "cluster.local")
    named = gang.scheduler(settings)
    assert named
    async with in_memory(known, settings) as api:
        stage = Stage(api, "default", cast, "gang")
        await api.create(stage.jobs, "default", job, dict)

        async def made() -> list[Raw]:
            groups = (await api.list(pod_groups(named), dict)).items
            for group in groups:
                status = {"status": {"phase": "Inqueue"}}
                await api.patch(pod_groups(named), "default", group["metadata"]["name"], status, dict)
            return [*groups, *(await api.list(PODS, dict)).items, *(await api.list(SERVICES, dict)).items]

        async def complete() -> bool:
            return len(await made()) == len(rendered)

        await stage.until(complete, f"{len(rendered)} children")
        assert by_name(rendered) == by_name(await made())
    assert rendered[0]["kind"] == "PodGroup"
