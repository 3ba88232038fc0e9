"""A release in a cluster of its own, and the processes that stand in for its pods."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chart.helm import CHART, Helm, Raw
from tests.chart.rights import kubeconfig_of
from tests.cluster import waiting
from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.leash import Process

TRAINOP = Path(sys.executable).with_name("trainop")


@dataclass(frozen=True)
class Release:
    cluster: Cluster
    helm: Helm
    namespace: str
    name: str = "trainop"

    def change(self, verb: str, *words: str | Path) -> str:
        """`helm install` or `helm upgrade` of the chart."""
        return self.helm.run(verb, self.name, CHART, "--namespace", self.namespace, *words)

    def serves_jobs(self) -> bool:
        """A CRD that was just made is not served at once."""
        try:
            self.cluster.run("get", "tfjobs,mxjobs")
        except Refused:
            return False
        return True

    def get(self, *words: str) -> Raw:
        told = self.cluster.run("get", "-n", self.namespace, "-o", "json", *words)
        return json.loads(told)  # type: ignore[no-any-return]  # an object, as kubectl prints it

    def names(self, kind: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.get(kind)["items"]}


@dataclass(frozen=True)
class Operator:
    """The leading replica."""

    process: Process
    metrics: str
    """Address of the page."""

    def page(self) -> str:
        with urllib.request.urlopen(self.metrics) as answer:  # noqa: S310 - our own address
            return str(answer.read().decode())


@contextmanager
def operator(release: Release, folder: Path) -> Iterator[Operator]:
    """What the Deployment would start, as a process: its command, its arguments, its service account."""
    pod = release.get("deployment", release.name)["spec"]["template"]["spec"]
    [container] = pod["containers"]
    metrics, health = f"127.0.0.1:{_port()}", f"127.0.0.1:{_port()}"
    elsewhere = [f"--metrics-bind-address={metrics}", f"--health-probe-bind-address={health}"]
    log = folder / "operator.log"
    config = kubeconfig_of(release.cluster, pod["serviceAccountName"], release.namespace, folder)
    env = {"KUBECONFIG": str(config), "POD_NAME": "trainop-0", "POD_NAMESPACE": release.namespace}
    process = Process(
        [TRAINOP, *container["command"][1:], *container["args"], *elsewhere],
        log=log,
        env={**os.environ, **env},
    )

    def ready() -> bool:
        assert process.wait(0) is None, process.last_words(30)
        try:
            with urllib.request.urlopen(f"http://{health}/readyz") as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    try:
        waiting.until("the operator is ready", ready)
        yield Operator(process, f"http://{metrics}/metrics")
    finally:
        process.stop(30)
    said = log.read_text()
    assert "Traceback" not in said, said
    assert "forbidden" not in said.lower(), said


@contextmanager
def kubelet(release: Release, folder: Path) -> Iterator[None]:
    """Plays the node: pods of jobs run and end well."""
    env = {**os.environ, "KUBECONFIG": str(release.cluster.kubeconfig)}
    process = Process(
        [sys.executable, "-m", "tests.kubelet", "--after", "0"],
        log=folder / "kubelet.log", env=env, cwd=CHART.parents[1],
    )  # fmt: skip
    try:
        yield
    finally:
        process.stop(10)


def run_pod(release: Release, name: str, folder: Path) -> tuple[int, str]:
    """Do what the only container of a pod does, with its files and its rights, and tell the API server how it ended."""
    pod = release.get("pod", name)["spec"]
    [container] = pod["containers"]
    [mount] = [it for it in container["volumeMounts"] if not it["mountPath"].startswith("/var/run/secrets")]
    [volume] = [it for it in pod["volumes"] if it["name"] == mount["name"]]
    for file, text in release.get("configmap", volume["configMap"]["name"])["data"].items():
        (folder / file).write_text(text)
    program, *words = (word.replace(mount["mountPath"], str(folder)) for word in container["command"])
    assert program == "python"
    config = kubeconfig_of(release.cluster, pod["serviceAccountName"], release.namespace, folder)
    done = subprocess.run(  # noqa: S603 - the chart's own script
        [sys.executable, *words],
        env={**os.environ, "KUBECONFIG": str(config)},
        capture_output=True,
        text=True,
        check=False,
    )
    phase = json.dumps({"status": {"phase": "Failed" if done.returncode else "Succeeded"}})
    release.cluster.run(
        "patch", "pod", name, "-n", release.namespace, "--subresource=status", "--type=merge", "-p", phase
    )
    return done.returncode, done.stdout + done.stderr


def _port() -> int:
    """A free one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
