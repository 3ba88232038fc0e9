"""The operator that trainop follows, v1.8.1, as a plain process on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries, build, waiting
from tests.cluster.controlplane import Cluster
from tests.cluster.leash import Process
from tests.cluster.progress import Progress

SOURCES = build.Sources(
    name="training-operator",
    folder=Path(__file__).parent,
    module="github.com/kubeflow/training-operator",
    packages={"training-operator": "github.com/kubeflow/training-operator/cmd/training-operator.v1"},
    way_out="or leave these tests out with --ignore=tests/takeover",
)
KINDS = ("tfjob", "mxjob", "pytorchjob", "xgboostjob")
NAMESPACE = "kubeflow"
# Compiled in. It waits until there is such a file and never reads it.
_MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")  # noqa: S108
_START_LIMIT = 120  # seconds, for a busy machine; it needs three
_STOP_LIMIT = 30

_TO_BE_FILLED_IN = [
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "training-operator-webhook-cert", "namespace": NAMESPACE},
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "validator.training-operator.kubeflow.org"},
        "webhooks": [
            {
                "name": "nobody.training-operator.kubeflow.org",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"service": {"name": "training-operator", "namespace": NAMESPACE}},
                "rules": [
                    {"apiGroups": ["none"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
                ],
            }
        ],
    },
]
"""It asks for a place for its certificates and for a webhook; no request fits the rule of this one."""


@dataclass(frozen=True)
class OldOperator:
    program: Path
    crds: tuple[Path, ...]

    @contextlib.contextmanager
    def running(self, cluster: Cluster, folder: Path) -> Iterator[None]:
        """Serves its kinds in all namespaces; `folder` takes what it writes.

        It is stopped as Kubernetes does it. The exit code says nothing: it always ends in a panic.
        """
        for crd in self.crds:
            cluster.install_crds(crd, "--server-side")
        _provide_certificates(cluster, folder)
        kinds = [f"--enable-scheme={kind}" for kind in KINDS]
        ports = [
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            f"--webhook-server-port={_port()}",
        ]
        env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "TMPDIR": str(folder)}
        log = folder / "operator.log"
        process = Process([self.program, *kinds, *ports], log=log, env=env)

        def works() -> bool:
            assert process.wait(0) is None, f"the old operator has ended:\n{process.last_words(30)}"
            _pretend_to_mount()
            said = log.read_text()
            return all(f'Starting workers\t{{"controller": "{kind}-controller"' in said for kind in KINDS)

        try:
            waiting.until("the old operator works", works, _START_LIMIT)
            yield
        finally:
            process.stop(_STOP_LIMIT)
            _tidy_up()


def fetch(progress: Progress) -> OldOperator:
    """Builds it the first time, which takes minutes; raises Unavailable where that cannot be done."""
    program = binaries.cached(SOURCES, tuple(SOURCES.packages), progress)["training-operator"]
    crds = build.unpacked(SOURCES, binaries.cache(), progress) / "manifests" / "base" / "crds"
    return OldOperator(program, tuple(crds / f"kubeflow.org_{kind}s.yaml" for kind in KINDS))


def _provide_certificates(cluster: Cluster, folder: Path) -> None:
    """It starts nothing before its webhook could serve. Nobody calls that, so any certificate will do."""
    mounted = folder / "k8s-webhook-server" / "serving-certs"
    mounted.mkdir(parents=True)
    for suffix in ("crt", "key"):
        some = cluster.kubeconfig.parent / "certificates" / f"apiserver.{suffix}"
        (mounted / f"tls.{suffix}").write_bytes(some.read_bytes())
    cluster.run("create", "namespace", NAMESPACE)
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": _TO_BE_FILLED_IN})
    cluster.run("create", "-f", "-", stdin=items)


def _pretend_to_mount() -> None:
    with contextlib.suppress(OSError):  # another run may tidy up right now, or it is another user's
        _MOUNTED.parent.mkdir(parents=True, exist_ok=True)
        _MOUNTED.touch()


def _tidy_up() -> None:
    with contextlib.suppress(OSError):
        _MOUNTED.unlink(missing_ok=True)
        _MOUNTED.parent.rmdir()
        _MOUNTED.parent.parent.rmdir()


def _port() -> int:
    """A free one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
