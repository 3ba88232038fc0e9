"""K8S_VERSION: which Kubernetes the tests run on, and which ones trainop says it supports."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from tests.cluster import binaries, build
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster
from tests.cluster.progress import Progress
from tests.cluster.versions import kubernetes, locked

ROOT = Path(__file__).parents[1]
OLDEST, *_, NEWEST = locked()
SILENT = Progress(lambda text: None, terminal=False)


def test_without_a_wish_it_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("K8S_VERSION", raising=False)
    assert kubernetes() == NEWEST
    monkeypatch.setenv("K8S_VERSION", "")
    assert kubernetes() == NEWEST


@pytest.mark.parametrize("wish", ["1.30", "v1.30", OLDEST.version, OLDEST.version.removeprefix("v")])
def test_a_version_may_be_written_short_or_in_full(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_VERSION", wish)
    assert kubernetes() == OLDEST


@pytest.mark.parametrize("wish", ["1.29", "1.3", "1.30.1", "30", "latest", "../1.30", "vv1.30"])
def test_one_that_is_not_locked_is_refused_in_a_line_that_names_those_that_are(
    wish: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K8S_VERSION", wish)
    with pytest.raises(Unavailable) as refused:
        binaries.find(SILENT)
    known = f"{OLDEST.folder.name} or {NEWEST.folder.name}"
    assert str(refused.value) == (
        f"K8S_VERSION is {wish}, which is not locked here: set it to {known}, or unset it."
    )


@pytest.mark.parametrize("sources", locked(), ids=lambda sources: sources.folder.name)
def test_a_folder_locks_the_version_it_is_named_for(sources: build.Sources) -> None:
    assert re.fullmatch(rf"v{re.escape(sources.folder.name)}\.\d+", sources.version)
    staging = set(re.findall(r"=> k8s\.io/\S+ (v\S+)", (sources.folder / "go.mod").read_text()))
    assert staging == {sources.version.replace("v1.", "v0.")}


@pytest.mark.parametrize("wish", [OLDEST.folder.name, NEWEST.folder.name])
def test_every_program_is_of_that_version_but_etcd_of_the_newest(
    wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("K8S_VERSION", wish)
    for sources in locked():
        for name in sources.packages:
            program = binaries.folder(sources) / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.touch()
    found = binaries.find(SILENT)
    ours = binaries.folder(kubernetes())
    assert found.etcd == binaries.folder(NEWEST) / "etcd"
    assert found.kube_apiserver == ours / "kube-apiserver"
    assert found.kube_controller_manager == ours / "kube-controller-manager"
    assert found.kubectl == ours / "kubectl"


def test_no_two_share_a_place_in_the_cache() -> None:
    assert len({binaries.folder(sources) for sources in locked()}) == len(locked())


def test_the_oldest_that_is_tested_is_the_oldest_that_is_claimed() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "trainop" / "Chart.yaml").read_text())
    oldest, newest = OLDEST.folder.name, NEWEST.folder.name
    assert chart["kubeVersion"] == f">={oldest}.0-0"
    assert f"Kubernetes {oldest} to {newest}; the tests run on both ends" in (ROOT / "README.md").read_text()


@pytest.mark.skipif(
    bool({"TRAINOP_TEST_KUBECONFIG", "KUBEBUILDER_ASSETS"} & os.environ.keys()), reason="not of our choice"
)
def test_server_and_kubectl_say_that_they_are_of_it(control_plane: Cluster) -> None:
    said = json.loads(control_plane.run("version", "-o", "json"))
    versions = {said[part]["gitVersion"] for part in ("serverVersion", "clientVersion")}
    assert versions == {kubernetes().version}
