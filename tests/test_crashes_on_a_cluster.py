"""Kill the operator before or after any single write, on a real API server: the end is that of the undisturbed run."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.chart.account import Account, granted
from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.crash_stories import PLAINEST, Story, a_cast, crash_at_every_write
from tests.scenarios import test_scenarios as stories
from tests.scenarios.stage import Cast, Stage
from trainop.errors import Gone
from trainop.kube import credentials
from trainop.kube.client import Client

AT_ONCE = 12
IN_MEMORY_ONLY = {
    stories.test_what_still_runs_is_removed_with_its_service_and_what_has_ended_is_kept,  # like the first
    stories.test_clean_pod_policy_none_keeps_all_and_all_keeps_nothing,
}
# Few members, few writes: a crash between two pods of a role is like one between two roles.
SMALL = a_cast("TFJob", replicas={"Chief": 1, "Worker": 1}, server="Worker")
CASTS: dict[Story, Cast] = {
    stories.test_scaling_down_removes_surplus_members_and_scaling_up_adds_them: a_cast(
        "TFJob", replicas={"Worker": 2}, decider="Worker", server="Worker"
    )
}


@pytest.fixture(scope="module")
def namespaces(crds: Cluster) -> Iterator[list[str]]:
    names = [f"crash-{secrets.token_hex(4)}" for _ in range(AT_ONCE)]
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    crds.run("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def ready() -> bool:
        found = crds.run("get", "serviceaccounts", "-A", "-o", "jsonpath={.items[*].metadata.namespace}")
        return set(names) <= set(found.split())

    waiting.until("the namespaces have their service accounts", ready)
    yield names
    crds.run("delete", "namespace", *names, "--wait=false")


@pytest.fixture(scope="module")
def who(
    crds: Cluster, helm: Helm, namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Account]:
    with granted(crds, helm, tmp_path_factory.mktemp("account"), *namespaces) as account:
        yield account


@pytest.mark.parametrize(
    "story", [story for story in PLAINEST if story not in IN_MEMORY_ONLY], ids=lambda story: story.__name__
)
async def test_a_crash_at_any_write_changes_nothing(
    story: Story, crds: Cluster, namespaces: list[str], who: Account
) -> None:
    cast = CASTS.get(story, SMALL)
    free: asyncio.Queue[str] = asyncio.Queue()
    for namespace in namespaces:
        free.put_nowait(namespace)

    async with (
        Client(credentials.load(str(crds.kubeconfig))) as api,
        Client(credentials.load(str(who.kubeconfig))) as way,
    ):

        @asynccontextmanager
        async def stages() -> AsyncIterator[Stage]:
            """In a namespace that no other has at the time; no name is used again there."""
            namespace = await free.get()
            stage = Stage(api, namespace, cast, f"story-{secrets.token_hex(4)}", way)
            try:
                yield stage
            finally:
                with suppress(Gone):
                    await stage.delete()
                free.put_nowait(namespace)

        await crash_at_every_write(story, stages, AT_ONCE)
