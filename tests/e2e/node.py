"""One real node with its control plane: containers, networks, services and DNS, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.progress import Progress
from tests.e2e import archive, certificates, plot, programs
from tests.e2e.configuration import DNS, DNS_ADDRESS, PAUSE, Configuration
from tests.e2e.machine import Broken, Machine
from tests.e2e.programs import Software

_DNS = Path(__file__).parent / "dns" / "coredns.yaml"
_BEAT = '{.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}'
_READY = '{.status.conditions[?(@.type=="Ready")].status}'
_COREFILE = (
    '[{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "/etc/coredns/%s"}]'
)


class Node:
    """Up from `start` to `stop`; a context manager does both. It belongs to the process that started it."""

    cluster: Cluster
    """The kubeconfig is the administrator's, and can be used outside of the node."""

    def __init__(self, progress: Progress, software: Software | None = None) -> None:
        """`software`: something else than what programs.py finds."""
        self._progress = progress
        self._software = software
        self._undo = contextlib.ExitStack()
        self.up = False
        """Or at least part of it is there."""
        self.parts: list[tuple[str, float]] = []
        """What took how many seconds."""

    def start(self) -> Node:
        """Bring it up, and return when pods can run and look each other up; raises Unavailable."""
        try:
            self._prepare()
            self._start_control_plane()
            self._import_own_images()
            self.start_kubelet()
            self._start_services()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Remove it without a trace; doing it twice is fine."""
        if self.up:
            self.up = False
            with self._part("removing the node"):
                self._undo.close()

    def __enter__(self) -> Node:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def name(self) -> str:
        """What everything of it on this machine is called."""
        return self._plot.name

    @property
    def pid(self) -> int:
        """Of its process 1."""
        return self._machine.pid

    def check(self) -> None:
        """Raise Unavailable when a program has ended that should run."""
        self._machine.check()

    def run(self, *words: str | Path, stdin: str = "") -> str:
        """What a command prints on the node, where pods and services can be reached; raises Broken."""
        return self._machine.run(*words, stdin=stdin)

    def import_image(self, image: Path, name: str = "") -> None:
        """Have an image on the node from an archive as `docker save` makes it, which has its name in it."""
        with self._part(f"importing {name or image.stem}, {image.stat().st_size >> 20} MiB"):
            self._machine.run(*self._ctr, "--namespace=k8s.io", "images", "import", image)

    def stop_kubelet(self) -> None:
        """Pods go on, and nobody tells the cluster."""
        self._machine.kill("kubelet", signal.SIGTERM)

    def start_kubelet(self) -> None:
        with self._part("starting the kubelet"):
            before = self._told(_BEAT)
            self._start("kubelet")
            self._machine.until("the node is ready", lambda: self._ready(since=before))

    def kill_containerd(self) -> None:
        """The processes of pods go on."""
        self._machine.kill("containerd")

    def start_containerd(self) -> None:
        self._start("containerd")
        self._machine.until("containerd listens", self._containerd_answers)

    def reboot(self) -> None:
        """Like after a power cut: no process is left, and all that was written is there."""
        self._machine.halt()
        for path in self._configuration.lost_by_a_reboot:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        with self._part("booting again"):
            self._machine.boot()
        self._start_control_plane()
        self.start_kubelet()
        with self._part("starting kube-proxy and DNS"):
            self._start("kube-proxy")
            self._machine.until("the cluster's DNS answers", self._dns_answers)

    def set_dns_cache(self, *, on: bool) -> None:
        """Whether the cluster's DNS keeps its answers for 30 seconds, wrong ones for 5; it does not at first."""
        with self._part(f"DNS {'with' if on else 'without'} a cache"):
            patch = _COREFILE % ("caching" if on else "plain")
            self.cluster.run(
                "-n", "kube-system", "patch", "deployment", "coredns", "--type=json", "-p", patch
            )
            self._wait_for_dns()

    def keep_logs(self, folder: Path) -> Path:
        """Copy what its programs and its pods have said, for whoever wants to know why something failed."""
        for log in self._plot.folder.glob("*.log"):
            shutil.copy(log, folder)
        pods = self._plot.folder / "podlogs"
        if pods.exists():
            shutil.copytree(pods, folder / "pods", dirs_exist_ok=True)
        return folder

    def _prepare(self) -> None:
        software = self._software or programs.find(self._progress)
        self._images = {PAUSE: software.programs["pause"], DNS: software.programs["coredns"]}
        _bypass_proxies()
        plot.tidy()
        self.up = True
        self._plot = self._undo.enter_context(plot.take())
        with self._part("making certificates"):
            known = certificates.make(self._plot.folder / "certificates", self._plot.address)
            self._configuration = Configuration(self._plot, known)
            self._configuration.write()
        self._argv = self._configuration.argv(software.control_plane, software.programs)
        self.cluster = Cluster(known.kubeconfig("admin"), software.control_plane.kubectl)
        self._machine = Machine(self._plot, software.packages)
        self._undo.callback(self._machine.halt)
        with self._part(f"making the namespaces of {self.name}"):
            self._machine.boot()

    def _start_control_plane(self) -> None:
        with self._part("starting the control plane"):
            self._start("etcd")
            self.start_containerd()
            self._start("kube-apiserver")
            self._machine.until("the API server is ready", lambda: self._answers("get", "--raw", "/readyz"))
            self._start("kube-controller-manager")
            self._start("kube-scheduler")

    def _import_own_images(self) -> None:
        for image, program in self._images.items():
            path = self._plot.folder / f"{program.name}.tar"
            archive.write(path, image, program)
            self.import_image(path)
            path.unlink()

    def _start_services(self) -> None:
        with self._part("starting kube-proxy and DNS"):
            self._start("kube-proxy")
            self.cluster.run("apply", "-f", str(_DNS))
            self._wait_for_dns()

    def _wait_for_dns(self) -> None:
        self.cluster.run("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=180s")
        self._machine.until("the cluster's DNS answers", self._dns_answers)

    def _start(self, name: str) -> None:
        self._machine.start(name, self._argv[name])

    def _ready(self, *, since: str) -> bool:
        """Whether the kubelet says so: what it said `since` may be of the one before."""
        return self._told(_BEAT) not in ("", since) and self._told(_READY) == "True"

    def _told(self, path: str) -> str:
        try:
            return self.cluster.run("get", "node", certificates.NAME, "-o", f"jsonpath={path}")
        except Refused:
            return ""

    def _answers(self, *words: str) -> bool:
        with contextlib.suppress(Refused):
            self.cluster.run(*words)
            return True
        return False

    @property
    def _ctr(self) -> tuple[str, str]:
        return "ctr", f"--address={self._configuration.socket}"

    def _containerd_answers(self) -> bool:
        return self._works(*self._ctr, "version")

    def _dns_answers(self) -> bool:
        return self._works("timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{DNS_ADDRESS}/53")

    def _works(self, *words: str) -> bool:
        with contextlib.suppress(Broken):
            self._machine.run(*words)
            return True
        return False

    @contextlib.contextmanager
    def _part(self, text: str) -> Iterator[None]:
        began = time.monotonic()
        with self._progress.part(text):
            yield
        self.parts.append((text, time.monotonic() - began))


def _bypass_proxies() -> None:
    """For whoever asks the cluster from this process, or from one that it starts."""
    for key in ("NO_PROXY", "no_proxy"):
        os.environ[key] = ",".join(filter(None, (os.environ.get(key), plot.SUBNET)))
