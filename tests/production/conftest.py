"""A site for each test; when the test is over, the witness says whether any promise was broken there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.chart.account import granted
from tests.chart.helm import Helm
from tests.cluster.controlplane import Cluster
from tests.production.site import Site
from tests.production.witness import Witness
from trainop.kube.client import Client
from trainop.kube.credentials import load


@pytest.fixture
async def site(crds: Cluster, helm: Helm, namespace: str, tmp_path: Path) -> AsyncIterator[Site]:
    with granted(crds, helm, tmp_path, namespace) as account:
        async with Client(load(str(crds.kubeconfig))) as api:
            async with Witness(api, namespace).watching() as witness:
                yield Site(crds, api, namespace, account, witness, tmp_path)
            witness.check()
