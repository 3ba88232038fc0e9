"""Starts and stops a control plane: loopback only, in a folder of its own, nothing left behind."""

import base64
import contextlib
import functools
import http.client
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.cluster import leash, waiting
from tests.cluster.binaries import Binaries
from tests.cluster.build import Unavailable

_HOST = "127.0.0.1"
_START_LIMIT = 120  # seconds for each step of the start, for a busy machine; an idle one needs two
_STOP_LIMIT = 5  # seconds for each process to end by itself; what they hold is thrown away anyway
# The others would act on nodes and workloads that do not exist here, and only cost time.
_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
)
# What operators ask for under their own names. Everyone else here is the administrator, who would fill a disk.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}],
}


class Refused(Exception):
    """The API server is there and did not take what it was given."""


@dataclass(frozen=True)
class Cluster:
    """How to reach a cluster, ours or the user's."""

    kubeconfig: Path
    kubectl: Path
    audit: Path | None = None
    """What service accounts have asked for, see audit.py; None: it is not ours to look at."""

    def run(self, *words: str, stdin: str = "") -> str:
        """What `kubectl WORDS` prints; raises Refused with its error message."""
        # No cache: it goes by address, and here one address is many clusters in turn.
        argv = [str(self.kubectl), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={os.devnull}", *words]
        done = subprocess.run(  # noqa: S603 - kubectl with a test's own words
            argv, input=stdin, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Refused(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def install_crds(self, path: Path, *flags: str) -> None:
        """Put the CRDs of a file or folder there and wait until they can be used."""
        self.run("apply", *flags, "-f", str(path))
        waiting.until(f"the kinds of {path.name} are served", lambda: self._served(path))

    def _served(self, path: Path) -> bool:
        # Not `kubectl wait`: it fails on a CRD so new that it has no conditions yet, and being established
        # is not being served.
        names = self.run("get", "-o", "name", "-f", str(path)).split()
        try:
            self.run("get", ",".join(name.partition("/")[2] for name in names))
        except Refused:
            return False
        return True


def etcd_socket(directory: Path) -> Path:
    return directory / "etcd.sock"


def etcd_flags(directory: Path) -> list[str]:
    """For an etcd that keeps everything in a folder and that nobody else can reach."""
    # A socket file needs no port, and only we can open it: etcd itself asks nobody who they are.
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls=unix://{etcd_socket(directory)}",
        f"--advertise-client-urls=http://{_HOST}:0",
        f"--listen-peer-urls=http://{_HOST}:0",
        f"--initial-advertise-peer-urls=http://{_HOST}:0",
        f"--initial-cluster=default=http://{_HOST}:0",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kubeconfig(server: str, authority: Path, user: Mapping[str, str]) -> str:
    """One that stands by itself; `user` says how they prove who they are."""
    name = "trainop-test"
    trust = base64.b64encode(authority.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": trust}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2)


class ControlPlane:
    """etcd, kube-apiserver and kube-controller-manager; as a context manager it yields the Cluster."""

    directory: Path
    """Holds everything it writes, from start to stop."""

    def __init__(
        self, binaries: Binaries, *, crds: Path | None = None, admission: Sequence[str] = ()
    ) -> None:
        """`crds` is a folder of CRDs to install before the garbage collector starts; kinds that come later it
        finds only when it looks again, every 30 seconds. `admission`: plugins beside those that are on by default.
        """
        self._binaries = binaries
        self._crds = crds
        self._admission = admission
        self._token = secrets.token_urlsafe(32)
        self._processes: list[leash.Process] = []
        self._undo = contextlib.ExitStack()

    @property
    def pids(self) -> list[int]:
        """The processes that run for it."""
        return [process.pid for process in self._processes]

    def start(self) -> Cluster:
        """Bring it up and return when it is ready for work; raises Unavailable when it does not come up."""
        try:
            self.directory = Path(tempfile.mkdtemp(prefix="trainop-cluster-"))
            self._undo.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self._undo.callback(self._end_processes)
            self._start_etcd()
            port = self._reserve_port()
            self._start_apiserver(port)
            cluster = Cluster(self._write_kubeconfig(port), self._binaries.kubectl, self._audit)
            self._install_crds(cluster)
            self._start_controller_manager(cluster, port)
        except TimeoutError as error:
            words = "\n".join(process.last_words(5) for process in self._processes)
            self.stop()
            raise Unavailable(f"the control plane did not come up, {error}:\n{words}") from error
        except BaseException:
            self.stop()
            raise
        return cluster

    def stop(self) -> None:
        """End all processes and remove the folder; doing it twice is fine."""
        self._undo.close()

    def check(self) -> None:
        """Raise Unavailable when a process has ended that should run."""
        for process in self._processes:
            if (code := process.wait(0)) is not None:
                raise Unavailable(f"{process.name} ended by itself, exit {code}:\n{process.last_words()}")

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_etcd(self) -> None:
        self._spawn(self._binaries.etcd, *etcd_flags(self.directory))
        self._wait_until("etcd listens", self._etcd.exists)

    def _start_apiserver(self, port: int) -> None:
        tokens = self._write_secret("tokens.csv", f'{self._token},admin,admin,"system:masters"\n')
        # It signs its own certificate when it finds none; the same key then signs service account tokens.
        key = self._certificates / "apiserver.key"
        policy = self._write_secret("audit.json", json.dumps(_AUDIT_POLICY))
        self._spawn(
            self._binaries.kube_apiserver,
            f"--etcd-servers=unix://{self._etcd}",
            f"--bind-address={_HOST}",
            f"--advertise-address={_HOST}",
            "--endpoint-reconciler-type=none",  # a loopback address makes no valid endpoint
            f"--secure-port={port}",
            "--permit-port-sharing",  # with our own reservation of it
            f"--cert-dir={self._certificates}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit}",
            f"--enable-admission-plugins={','.join(self._admission)}",
            "--allow-privileged",
            "--profiling=false",
        )
        self._wait_until("kube-apiserver is ready", lambda: self._answers(port, "/readyz"))

    def _start_controller_manager(self, cluster: Cluster, port: int) -> None:
        self._spawn(
            self._binaries.kube_controller_manager,
            f"--kubeconfig={cluster.kubeconfig}",
            f"--controllers={','.join(_CONTROLLERS)}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--root-ca-file={self._certificates / 'apiserver.crt'}",
            f"--service-account-private-key-file={self._certificates / 'apiserver.key'}",
            "--kube-api-qps=500",  # the default of 20 would make tests wait for clean-up
            "--kube-api-burst=1000",
            "--profiling=false",
        )
        made_by_controllers = "serviceaccounts/default", "configmaps/kube-root-ca.crt"
        for path in made_by_controllers:
            url = f"/api/v1/namespaces/default/{path}"
            self._wait_until(f"{path} exists", functools.partial(self._answers, port, url))

    def _install_crds(self, cluster: Cluster) -> None:
        if self._crds and any(self._crds.glob("*.yaml")):
            cluster.install_crds(self._crds)

    @property
    def _etcd(self) -> Path:
        return etcd_socket(self.directory)

    @property
    def _audit(self) -> Path:
        return self.directory / "audit.log"

    @property
    def _certificates(self) -> Path:
        return self.directory / "certificates"

    def _reserve_port(self) -> int:
        """A free port that stays ours: the socket never listens, and only a process of ours may share it."""
        reservation = self._undo.enter_context(socket.socket())
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reservation.bind((_HOST, 0))
        port: int = reservation.getsockname()[1]
        return port

    def _write_kubeconfig(self, port: int) -> Path:
        authority = self._certificates / "apiserver.crt"
        text = kubeconfig(f"https://{_HOST}:{port}", authority, {"token": self._token})
        return self._write_secret("kubeconfig", text)

    def _write_secret(self, name: str, text: str) -> Path:
        path = self.directory / name
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        return path

    def _spawn(self, program: Path, *flags: str) -> None:
        log = self.directory / f"{program.name}.log"
        # All they talk to is on this machine, where a proxy only gets in the way.
        env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        try:
            process = leash.Process([program, *flags], log=log, env=env, scratch=self.directory)
        except OSError as error:
            raise Unavailable(
                f"{program.name} cannot be started ({error}): fetch or name another one."
            ) from error
        self._processes.append(process)

    def _end_processes(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.stop(_STOP_LIMIT)
        self._processes.clear()

    def _wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        def met() -> bool:
            self.check()
            return condition()

        waiting.until(what, met, _START_LIMIT)

    def _answers(self, port: int, path: str) -> bool:
        """Whether a GET succeeds; the certificate is checked like any client does."""
        try:
            trust = ssl.create_default_context(cafile=self._certificates / "apiserver.crt")
            connection = http.client.HTTPSConnection(_HOST, port, timeout=10, context=trust)
            with contextlib.closing(connection):
                connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
                return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
