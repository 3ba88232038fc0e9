"""The cluster of the suite: a node of ours with all images on it, or the one TRAINOP_E2E_KUBECONFIG names."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chart.helm import Helm
from tests.chart.release import Release
from tests.cluster import own, shared
from tests.cluster.controlplane import Cluster
from tests.cluster.progress import on_stderr
from tests.e2e import FOREIGN, images, storage
from tests.e2e.node import Node
from tests.e2e.user import User

_NODE = pytest.StashKey[Node]()
_LOGS = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def node(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node | None]:
    """None: the cluster is the user's, and so are its nodes."""
    if os.environ.get(FOREIGN):
        yield None
        return
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    loud = capture.global_and_fixture_disabled  # who waits for a node wants to see it come up
    node = pytestconfig.stash[_NODE] = Node(on_stderr())
    try:
        with loud(), own.or_skip():
            archives = images.archives(on_stderr())
            node.start()
            for name, archive in archives.items():
                node.import_image(archive, name)
        yield node
    finally:
        if node.up and request.session.testsfailed:
            pytestconfig.stash[_LOGS] = node.keep_logs(tmp_path_factory.mktemp("node"))
        with loud():
            node.stop()


@pytest.fixture(scope="session")
def cluster(node: Node | None) -> Cluster:
    if node:
        return node.cluster
    with own.or_skip():
        named = shared.named_by_user(FOREIGN, on_stderr)
    assert named
    return named


@pytest.fixture(scope="session")
def control_plane(cluster: Cluster) -> Cluster:
    """What the fixtures that all tests share work on: here, too, `namespace` gives a fresh one."""
    return cluster


@pytest.fixture
def our_node(node: Node | None) -> Node:
    """For tests that stop and start its parts."""
    if node is None:
        pytest.skip("needs the node of make e2e")
    return node


@pytest.fixture
def restricted(namespace: str, cluster: Cluster) -> str:
    """A fresh namespace that refuses every pod with more rights than it needs."""
    cluster.run("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    return namespace


@pytest.fixture(scope="session")
def release(cluster: Cluster, helm: Helm) -> Iterator[Release]:
    """The operator as the chart installs it, where no pod may have more rights than it needs."""
    release = Release(cluster, replace(helm, kubeconfig=cluster.kubeconfig), "trainop-system")
    cluster.run("create", "namespace", release.namespace)
    cluster.run("label", "namespace", release.namespace, "pod-security.kubernetes.io/enforce=restricted")
    release.change("install", "--wait", "--timeout=5m")
    yield release
    release.helm.run("uninstall", release.name, "--namespace", release.namespace, "--wait")
    cluster.run("delete", "namespace", release.namespace, "--wait=false")


@pytest.fixture
def user(release: Release, restricted: str) -> User:
    """Somebody with a namespace of their own, in which the operator is at work."""
    return User(release.cluster, restricted)


@pytest.fixture
def claim(cluster: Cluster, namespace: str, node: Node | None) -> Iterator[str]:
    """The name of a claim to a volume that all pods of the namespace can write to."""
    with own.or_skip(), storage.claimed(cluster, namespace, node) as name:
        yield name


def _took(terminalreporter: pytest.TerminalReporter) -> dict[str, float]:
    """Seconds by file, what several tests share left out."""
    reports = (report for reports in terminalreporter.stats.values() for report in reports)
    took: dict[str, float] = defaultdict(float)
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "call":
            took[report.nodeid.partition("::")[0]] += report.duration
    return took


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    node = config.stash.get(_NODE, None)
    if node and node.parts:
        terminalreporter.section("what the node took")
        for text, seconds in node.parts:
            terminalreporter.line(f"{seconds:6.1f} s  {text}")
    terminalreporter.section("what the tests took")
    for part, seconds in _took(terminalreporter).items():
        terminalreporter.line(f"{seconds:6.1f} s  {part}")
    if _LOGS in config.stash:
        terminalreporter.line(f"the logs of its programs and pods are in {config.stash[_LOGS]}")
