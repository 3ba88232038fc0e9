"""The operator that trainop follows, v1.8.1, as a plain process on this machine."""

import json
import os
import socket
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
KINDS = ("tfjobs", "mxjobs")
NAMESPACE = "kubeflow"
# Compiled in. It waits until there is such a file and never reads it.
_MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")  # noqa: S108
_START_LIMIT = 120  # seconds, for a busy machine; it needs three


class OldOperator:
    """Serves TFJobs and MXJobs of all namespaces from start to stop."""

    def __init__(self, cluster: Cluster, folder: Path, progress: Progress) -> None:
        """`folder` takes what it writes."""
        self._cluster, self._folder = cluster, folder
        self._program = binaries.cached(SOURCES, tuple(SOURCES.packages), progress)["training-operator"]
        self._manifests = build.unpacked(SOURCES, binaries.cache(), progress) / "manifests" / "base"

    def start(self) -> None:
        """Install its CRDs and bring it up."""
        for kind in KINDS:
            crd = self._manifests / "crds" / f"kubeflow.org_{kind}.yaml"
            self._cluster.run("apply", "--server-side", "-f", str(crd))
            self._cluster.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(crd))
        self._provide_certificates()
        log = self._folder / "old-operator.log"
        kinds = [f"--enable-scheme={kind.removesuffix('s')}" for kind in KINDS]
        addresses = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
        self._process = Process(
            [self._program, *kinds, *addresses, f"--webhook-server-port={_free_port()}"],
            log=log,
            env={**os.environ, "KUBECONFIG": str(self._cluster.kubeconfig), "TMPDIR": str(self._folder)},
        )

        def works() -> bool:
            assert self._process.wait(0) is None, self._process.last_words(30)
            _MOUNTED.touch()  # each time: another run on this machine may have tidied up
            return log.read_text().count("Starting workers") == len(KINDS)

        waiting.until("the old operator works", works, _START_LIMIT)
        _MOUNTED.unlink(missing_ok=True)

    def stop(self) -> None:
        """As Kubernetes does it; doing it twice is fine. Its exit code says nothing: it always ends in a panic."""
        self._process.stop(30)

    def _provide_certificates(self) -> None:
        """It starts nothing before its webhook could serve. Nobody calls that, so any certificate will do."""
        _MOUNTED.parent.mkdir(parents=True, exist_ok=True)
        certificates = self._folder / "k8s-webhook-server" / "serving-certs"
        certificates.mkdir(parents=True)
        for suffix in ("crt", "key"):
            any_will_do = self._cluster.kubeconfig.parent / "certificates" / f"apiserver.{suffix}"
            (certificates / f"tls.{suffix}").write_bytes(any_will_do.read_bytes())
        self._cluster.run("create", "namespace", NAMESPACE)
        self._cluster.run(
            "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": _TO_FILL})
        )


_TO_FILL = [
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
                "name": "nothing.training-operator.kubeflow.org",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"service": {"name": "training-operator", "namespace": NAMESPACE}},
                "rules": [
                    {
                        "apiGroups": ["example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["none"],
                    }
                ],
            }
        ],
    },
]
"""What its installation would have brought: it fills in certificates, and here no request fits the rule."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
