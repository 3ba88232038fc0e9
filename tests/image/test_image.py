"""What is in the image, and that it runs as the chart starts it: not as root, and with nothing to write to."""

from __future__ import annotations

import base64
import json
import re
import signal
import socket
import tomllib
import urllib.request
from pathlib import Path

import pytest

from tests.chart import account
from tests.chart.account import Account
from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster
from tests.image import container
from tests.image.base import ROOT
from tests.image.built import REVISION, Image

pytestmark = pytest.mark.image
HOME = "/opt/trainop"
ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"  # /var/run is a link to /run
LIMIT = 200_000_000
"""Bytes that we add to the base. Two thirds are the official client, and half of that is bytecode."""
WRITES = """
import os, sys
for folder in ("/", "/dev", "/run", "/tmp", "/opt/trainop"):
    try:
        open(folder + "/x", "w")
    except OSError as error:
        print(folder, error.strerror)
print(os.getuid(), os.getgid(), os.getgroups(), os.getpid())
print(*(line for line in open("/proc/self/status") if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))))
"""


def said(image: Image, folder: Path, *words: str, mounts: dict[str, Path] | None = None) -> str:
    """What `trainop WORDS` prints in a container."""
    process = container.start(image, folder, *words, mounts=mounts)
    try:
        assert process.wait(60) == 0, process.last_words()
    finally:
        process.stop(5)
    return (folder / "log").read_text()


def ours(image: Image) -> list[str]:
    """The files that our layers add."""
    return [path for layer in image.layers[2:] for path, entry in layer.items() if not entry.isdir()]


def version() -> str:
    project: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["version"]


def test_the_image_says_what_it_is_and_whom_it_runs_as(image: Image) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    config = image.config["config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("65532:65532", ["trainop"], ["operator"])
    told = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    wanted = {"title": "trainop", "version": version(), "revision": REVISION}
    assert wanted.items() <= told.items()
    assert told["description"] == project["description"]
    assert told["licenses"] == project["license"]
    assert told["source"]


def test_two_layers_are_added_and_the_one_that_changes_often_is_small(image: Image) -> None:
    _, _, dependencies, project = (sum(entry.size for entry in layer.values()) for layer in image.layers)
    print(f"dependencies {dependencies / 1e6:.0f} MB, trainop {project / 1e6:.1f} MB")  # noqa: T201 - for people
    assert dependencies + project < LIMIT
    assert project < 3_000_000


def test_everything_is_in_one_folder_and_belongs_to_root(image: Image) -> None:
    assert all(path.startswith(f"{HOME}/") for path in ours(image))
    entries = [entry for layer in image.layers[2:] for entry in layer.values() if not entry.issym()]
    assert {(entry.uid, entry.gid) for entry in entries} == {(0, 0)}
    assert not [entry.name for entry in entries if entry.mode & 0o6022], (
        "no setuid, none that others can write"
    )


def test_nothing_is_left_to_build_or_install_with(image: Image) -> None:
    packages = {match[1] for path in ours(image) if (match := re.search(r"/site-packages/([^/]+)", path))}
    assert not packages & {"pip", "setuptools", "wheel", "packaging", "_distutils_hack", "tools", "tests"}
    programs = {Path(path).name for layer in image.layers for path in layer if "/bin/" in path}
    assert "python3" in programs
    assert not programs & {"pip", "pip3", "gcc", "cc", "make", "uv"}
    assert not [path for path in ours(image) if "/.cache/" in path or path.endswith((".whl", ".lock"))]


def test_what_the_base_installs_with_is_taken_away(image: Image, tmp_path: Path) -> None:
    assert any(path.endswith("/ensurepip/__init__.py") for path in image.layers[0])
    script = (
        "import importlib.util as u; print([u.find_spec(it) for it in ('pip', 'ensurepip', 'setuptools')])"
    )
    process = container.start(image, tmp_path, "-c", script, entrypoint=["/usr/bin/python3"])
    assert process.wait(60) == 0, process.last_words()
    process.stop(5)
    assert (tmp_path / "log").read_text() == "[None, None, None]\n"


def test_every_module_that_is_ever_imported_comes_with_its_bytecode(image: Image) -> None:
    files = set(ours(image))
    modules = [path for path in files if path.endswith(".py") and "/kubernetes/aio/" not in path]
    assert len(modules) > 1000
    assert not [path for path in modules if not _bytecode(path) & files]
    some = next(iter(_bytecode(f"{_packages(files)}/trainop/reconcile.py") & files))
    assert image.read(some)[4:8] == b"\1\0\0\0", "trusted without a look at the source"


def _bytecode(path: str) -> set[str]:
    folder, _, name = path.rpartition("/")
    return {
        f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-3{minor}.pyc" for minor in range(11, 20)
    }


def _packages(files: set[str]) -> str:
    found = next(path for path in files if path.endswith("/site-packages/trainop/__init__.py"))
    return found.removesuffix("/trainop/__init__.py")


def test_the_bill_of_materials_lists_what_the_lock_file_locks_and_is_installed(image: Image) -> None:
    bill = json.loads(image.read(f"{HOME}/sbom.cdx.json"))
    listed = {component["purl"] for component in bill["components"]}
    locked = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert listed == {f"pkg:pypi/{name}@{number}" for name, number in locked}
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/trainop@{version()}"
    dist_info = r"/site-packages/([^/]+)-([^-/]+)\.dist-info/METADATA$"
    installed = [match.groups() for path in ours(image) if (match := re.search(dist_info, path))]
    purls = {f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{number}" for name, number in installed}
    assert purls == listed | {f"pkg:pypi/trainop@{version()}"}


def test_the_command_line_runs(image: Image, tmp_path: Path) -> None:
    assert said(image, tmp_path, "version") == f"trainop {version()}\n"
    assert "--leader-elect" in said(image, tmp_path, "operator", "--help")


def test_a_container_is_nobody_and_can_write_nowhere(image: Image, tmp_path: Path) -> None:
    process = container.start(image, tmp_path, "-c", WRITES, entrypoint=["python3"])
    assert process.wait(60) == 0, process.last_words()
    process.stop(5)
    *refusals, who, powers = (tmp_path / "log").read_text().split("\n", 6)
    assert {line.partition(" ")[2] for line in refusals} <= {"Read-only file system", "Permission denied"}
    assert len(refusals) == 5
    assert who == "65532 65532 [] 1"
    assert re.search(r"CapEff:\s+0+\n", powers)
    assert re.search(r"NoNewPrivs:\s+1\n", powers)


def test_a_container_that_is_still_starting_ends_when_it_is_told_to(image: Image, tmp_path: Path) -> None:
    """Nobody hears SIGTERM as process 1 who does not ask for it."""
    folder = tmp_path / "frameworks"
    about = folder / "slow-1.dist-info"
    about.mkdir(parents=True)
    (folder / "slow.py").write_text("import time; print('importing', flush=True); time.sleep(600)")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[trainop.frameworks]\nslow = slow:FRAMEWORK\n")
    process = container.start(image, tmp_path, "operator", mounts={"/opt/frameworks": folder})
    try:
        waiting.until("it is importing", lambda: "importing" in (tmp_path / "log").read_text())
        container.terminate(process)
        assert process.wait(60) == 128 + signal.SIGTERM, process.last_words()
    finally:
        process.stop(5)


def test_a_framework_laid_into_its_folder_is_found(image: Image, tmp_path: Path) -> None:
    mounts = {"/opt/frameworks": ROOT / "tests" / "thirdparty"}
    assert "kind: Concert" in said(image, tmp_path, "crds", mounts=mounts)


def test_the_operator_serves_a_job_as_its_service_account_and_ends_at_sigterm(
    image: Image, crds: Cluster, helm: Helm, namespace: str, tmp_path: Path
) -> None:
    granted = account.objects(helm, namespace, *account.only_in(namespace))
    who = account.install(crds, granted, tmp_path)
    mounted, address = _mounted(who, tmp_path / "account")
    probe = f"127.0.0.1:{_port()}"
    flags = [f"--namespace={namespace}", "--metrics-bind-address=0", f"--health-probe-bind-address={probe}"]
    host, _, port = address.rpartition(":")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    operator = container.start(image, tmp_path, "operator", *flags, env=env, mounts={ACCOUNT: mounted})

    def alive() -> bool:
        assert operator.wait(0) is None, operator.last_words(30)
        return _ready(probe)

    try:
        waiting.until("the operator is ready", alive)
        crds.run("apply", "-n", namespace, "-f", str(ROOT / "examples/tensorflow/tfjob.yaml"))
        pods = ("get", "pods", "-n", namespace, "-o", "name")
        waiting.until("the job has its pods", lambda: len(crds.run(*pods).split()) == 4)
        container.terminate(operator)
        assert operator.wait(30) == 0, operator.last_words(30)
    finally:
        operator.stop(5)
    assert "Traceback" not in (tmp_path / "log").read_text()
    who.check(tmp_path / "log")


def _mounted(who: Account, folder: Path) -> tuple[Path, str]:
    """What the kubelet mounts for a pod of a service account, and the API's address."""
    folder.mkdir()
    config = json.loads(who.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    (folder / "token").write_text(config["users"][0]["user"]["token"])
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    (folder / "namespace").write_text(who.namespace)
    return folder, cluster["server"].removeprefix("https://")


def _ready(probe: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{probe}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _port() -> int:
    """A free one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
