"""The fixtures all tests share: a control plane for the run, a namespace for the test."""

import fcntl
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chart import programs
from tests.chart.helm import Helm
from tests.cluster import own, waiting
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster
from tests.cluster.progress import Progress, on_stderr
from tests.cluster.shared import CRDS, Guest, Host

if TYPE_CHECKING:  # it takes most of a second to import, which only users of a cluster should pay
    from kubernetes.client import CoreV1Api

_CLUSTERS = pytest.StashKey[Host | Guest]()


def pytest_configure(config: pytest.Config) -> None:
    # What a script starts in the background ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "cluster: needs a real control plane; set for users of `control_plane`"
    )
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[_CLUSTERS] = Guest(worker["cluster"])
        return

    def progress() -> Progress:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        terminal = config.get_terminal_writer()  # what a test may print to is captured

        def write(text: str) -> None:
            if reporter is not None:
                reporter.ensure_newline()
            terminal.write(text, flush=True)

        return Progress(write, terminal=terminal.hasmarkup)

    host = Host(progress)
    config.stash[_CLUSTERS] = host
    config.add_cleanup(host.close)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a pytest-xdist worker whom to ask for the control plane."""
    host = node.config.stash[_CLUSTERS]
    node.workerinput["cluster"] = host.address()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The suite on a real node runs where someone asks for it by name, as `make e2e` does."""
    asked = any("e2e" in Path(argument.partition("::")[0]).parts for argument in config.args)
    return True if collection_path.name == "e2e" and not asked else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if measured := [report for report in terminalreporter.getreports("passed") if report.user_properties]:
        terminalreporter.section("measured on the way")
        for report in measured:
            figures = ", ".join(f"{name}: {value}" for name, value in report.user_properties)
            terminalreporter.line(f"{figures}  {report.nodeid.rpartition('::')[2]}")
    host = config.stash[_CLUSTERS]
    if isinstance(host, Host) and host.unavailable:
        terminalreporter.section("NO CONTROL PLANE: the tests that need one did not run", red=True, bold=True)
        terminalreporter.line(str(host.unavailable))


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Cluster:
    """A cluster all tests of the run share: TRAINOP_TEST_KUBECONFIG's, else a control plane of our own."""
    try:
        return request.config.stash[_CLUSTERS].cluster()
    except Unavailable as reason:
        sentence = f"no control plane: {str(reason).splitlines()[0]}"  # the summary tells the rest once
        if os.environ.get("CI") == "true":
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


@pytest.fixture(scope="session")
def crds(control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster with the product's CRDs in it, put there as users do it; nobody takes them away."""
    with (tmp_path_factory.getbasetemp().parent / "crds.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two that create the same at once, kubectl lets one fail
        control_plane.install_crds(CRDS)
    return control_plane


@pytest.fixture(scope="session")
def fetched(pytestconfig: pytest.Config) -> Callable[[Callable[[Progress], Path]], Path]:
    """A program that tests need beside the cluster, built if need be; without it the test is skipped."""

    def fetch(program: Callable[[Progress], Path]) -> Path:
        capture = pytestconfig.pluginmanager.getplugin("capturemanager")
        with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a build wants to see it
            return program(on_stderr())

    return fetch


@pytest.fixture(scope="session")
def helm(
    fetched: Callable[[Callable[[Progress], Path]], Path], tmp_path_factory: pytest.TempPathFactory
) -> Helm:
    """It knows no cluster."""
    return Helm(fetched(programs.helm), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def promql(fetched: Callable[[Callable[[Progress], Path]], Path]) -> Path:
    """See tests/chart/queries.py."""
    return fetched(programs.promql)


@pytest.fixture(scope="session")
def core_api(control_plane: Cluster) -> "Iterator[CoreV1Api]":
    """The core API of the cluster, as its administrator, for setting up and looking."""
    from kubernetes import client, config

    path = str(control_plane.kubeconfig)
    with config.new_client_from_config(path) as connection:  # type: ignore[no-untyped-call] # untyped there
        yield client.CoreV1Api(connection)


@pytest.fixture
def namespace(core_api: "CoreV1Api") -> Iterator[str]:
    """A fresh namespace in which pods can be created; it is deleted at the end, which nobody waits for."""
    from kubernetes.client import V1Namespace, V1ObjectMeta

    name = f"test-{secrets.token_hex(4)}"
    core_api.create_namespace(V1Namespace(metadata=V1ObjectMeta(name=name)))

    def accounts() -> list[Any]:
        return core_api.list_namespaced_service_account(name, field_selector="metadata.name=default").items

    waiting.until(f"namespace {name} has its service account", accounts)
    yield name
    core_api.delete_namespace(name)
