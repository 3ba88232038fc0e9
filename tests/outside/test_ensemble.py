"""The package in examples/frameworks, installed beside trainop in a fresh environment, is as good as a built-in one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import account
from tests.chart.helm import Helm
from tests.cluster import own, waiting
from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.leash import Process
from tests.kubelet import Kubelet
from tests.outside.fresh import ROOT, Environment
from tests.scenarios.operators import NO_PORTS
from trainop.kube.client import Client
from trainop.kube.credentials import load

pytestmark = pytest.mark.thorough

PACKAGE = ROOT / "examples" / "frameworks" / "ensemble"
EXAMPLE = str(PACKAGE / "trainop_ensemble" / "example.yaml")
LEARNERS = [f"forest-learner-{index}" for index in range(5)]


@pytest.fixture(scope="module")
def place(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("fresh"), wheels, PACKAGE)


def an_ensemble(**spec: Any) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load(Path(EXAMPLE).read_text())
    job["spec"] |= spec
    return job


def test_it_is_found_beside_ours_and_nothing_of_this_checkout_is_used(place: Environment) -> None:
    found = "import trainop, trainop.registry as r; print(trainop.__file__, *r.by_name())"
    path, *names = place.run(str(place.bin / "python"), "-c", found).split()
    assert Path(path).is_relative_to(place.bin.parent)
    assert {"ensemble", "mxnet", "tensorflow"} <= set(names)


def test_its_crd_and_its_rights_are_printed(place: Environment) -> None:
    crd = yaml.safe_load(place.trainop("crds", "--framework", "ensemble"))
    assert crd["metadata"]["name"] == "ensemblejobs.ensemble.example.com"
    role = yaml.safe_load(place.trainop("rbac", "--framework", "ensemble"))
    assert role["rules"][0] == {
        "apiGroups": ["ensemble.example.com"],
        "resources": ["ensemblejobs"],
        "verbs": ["get", "list", "watch", "delete"],
    }


def test_it_keeps_the_contract_and_its_example_runs_by_the_way(place: Environment) -> None:
    told = place.trainop("check-framework", "ensemble", "-o", "json", KUBECONFIG="/nowhere")
    results = json.loads(told)
    assert all(result["ok"] for result in results)
    assert results[-1]["check"].endswith("example.yaml runs here")


def test_its_job_is_validated_with_the_rule_of_its_own(place: Environment, tmp_path: Path) -> None:
    assert place.trainop("validate", EXAMPLE) == "1 job checked, no mistakes\n"
    path = tmp_path / "greedy.json"
    path.write_text(json.dumps(an_ensemble(quorum=6)))
    with pytest.raises(
        AssertionError, match=r"spec\.quorum: quorum must not be more than there are learners"
    ):
        place.trainop("validate", str(path))


def test_its_job_is_rendered_without_services(place: Environment) -> None:
    items = list(yaml.safe_load_all(place.trainop("render", EXAMPLE)))
    assert {item["kind"] for item in items} == {"Pod"}
    assert [item["metadata"]["name"] for item in items] == LEARNERS
    env = {entry["name"]: entry["value"] for entry in items[3]["spec"]["containers"][0]["env"]}
    assert env == {"ENSEMBLE_LEARNER": "3", "ENSEMBLE_LEARNERS": "5"}


def test_its_job_succeeds_here_although_a_learner_fails(place: Environment, tmp_path: Path) -> None:
    told = place.trainop("run", EXAMPLE, "-o", "json", "--run-dir", str(tmp_path / "run"))
    status = json.loads(told)["status"]
    assert status["conditions"][-1]["type"] == "Succeeded"
    assert status["replicaStatuses"]["Learner"]["succeededIndexes"] == "0-1,3-4"
    (log,) = (tmp_path / "run" / "logs" / "forest-learner-1").iterdir()
    assert log.read_text().startswith("learner 1 of 5: slope ")


# --- on a cluster ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(
    control_plane: Cluster, place: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """One of our own, with what `trainop crds` prints in that environment: a CRD may not go while others look on."""
    with own.control_plane(crds=ROOT / "crds") as alone:
        printed = tmp_path_factory.mktemp("crds") / "ensemble.yaml"
        printed.write_text(place.trainop("crds", "--framework", "ensemble"))
        alone.install_crds(printed)
        alone.run("create", "namespace", "trainop-system")
        yield alone


@contextmanager
def operator(cluster: Cluster, place: Environment, helm: Helm, folder: Path) -> Iterator[None]:
    """That environment's, as the chart's service account, which has been told of the kind."""
    crd = folder / "ensemble.yaml"
    crd.write_text(place.trainop("crds", "--framework", "ensemble"))
    made = account.objects(helm, "trainop-system", "--set-file", f"extraCrds={crd}")
    who, log = account.install(cluster, made, folder), folder / "operator.log"
    argv = [str(place.bin / "trainop"), "operator", *NO_PORTS]
    process = Process(argv, log=log, env={**place.env, **who.environment})
    try:
        served = "serving EnsembleJob, MXJob"
        waiting.until("the operator serves", lambda: served in log.read_text() or process.wait(0) is not None)
        yield
    finally:
        process.stop(30)
    assert "Traceback" not in log.read_text(), log.read_text()
    who.check(log)


def play(cluster: Cluster, codes: dict[str, int]) -> None:
    async def work() -> None:
        async with Client(load(str(cluster.kubeconfig))) as api:
            kubelet = Kubelet(api, "default")
            for name in codes:
                await kubelet.run(name)
            for name, code in codes.items():
                await kubelet.exit(name, code)

    asyncio.run(work())


@pytest.mark.cluster
def test_the_operator_runs_its_jobs_with_no_change_to_trainop(
    cluster: Cluster, place: Environment, helm: Helm, tmp_path: Path
) -> None:
    with operator(cluster, place, helm, tmp_path):
        # The last one decides: after that, the operator may take away whoever still runs.
        for ends, codes in (("Succeeded", (0, 0, 1, 0, 0)), ("Failed", (0, 0, 0, 1, 1))):
            cluster.run("apply", "-f", EXAMPLE)
            waiting.until("its pods are there", lambda: pods(cluster) == LEARNERS)
            play(cluster, dict(zip(LEARNERS, codes, strict=True)))
            cluster.run("wait", "ens/forest", f"--for=condition={ends}", "--timeout=60s")
            cluster.run("delete", "ens/forest", "--wait=true", "--timeout=60s")
            waiting.until("its pods are gone", lambda: pods(cluster) == [])


@pytest.mark.cluster
def test_the_api_server_refuses_what_its_rule_forbids(cluster: Cluster) -> None:
    with pytest.raises(Refused, match="quorum must not be more than there are learners"):
        cluster.run("create", "-f", "-", stdin=json.dumps(an_ensemble(quorum=6)))


def pods(cluster: Cluster) -> list[str]:
    return sorted(name.removeprefix("pod/") for name in cluster.run("get", "pods", "-o", "name").split())
