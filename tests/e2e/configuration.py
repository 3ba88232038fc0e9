"""What the programs of a node are told: the flags and files of each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.binaries import Binaries
from tests.cluster.controlplane import etcd_flags, etcd_socket
from tests.e2e.certificates import NAME, Certificates
from tests.e2e.plot import Plot

PAUSE = "localhost/pause:1"
DNS = "localhost/coredns:1"
DNS_ADDRESS = "10.96.0.10"
_SERVICES, _PODS = "10.96.0.0/16", "10.244.0.0/24"
_CONTAINERD = """
version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
  address = "{folder}/containerd.sock"
[ttrpc]
  address = "{folder}/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


class Configuration:
    """Of one node; `write` puts the files into its folder."""

    def __init__(self, plot: Plot, certificates: Certificates) -> None:
        self._plot = plot
        self._folder = plot.folder
        self._certificates = certificates

    @property
    def socket(self) -> Path:
        """Where containerd listens."""
        return self._folder / "containerd.sock"

    @property
    def lost_by_a_reboot(self) -> list[Path]:
        """What a real machine keeps in memory only."""
        names = ("containerd-state", "containerd.sock", "containerd.sock.ttrpc", "etcd.sock", "addresses")
        return [self._folder / name for name in names]

    def write(self) -> None:
        (self._folder / "cni").mkdir()
        (self._folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")  # pods ask the cluster's DNS
        (self._folder / "containerd.toml").write_text(_CONTAINERD.format(folder=self._folder, pause=PAUSE))
        self._json("cni/10-bridge.conflist", self._network())
        self._json("kubelet.json", self._kubelet())
        self._json("proxy.json", self._proxy())

    def argv(self, binaries: Binaries, programs: Mapping[str, Path]) -> dict[str, list[str | Path]]:
        """How each program is started."""
        return {
            "etcd": [binaries.etcd, *etcd_flags(self._folder)],
            "containerd": ["containerd", "--config", self._folder / "containerd.toml"],
            "kube-apiserver": [binaries.kube_apiserver, *self._apiserver_flags()],
            "kube-controller-manager": [binaries.kube_controller_manager, *self._controller_flags()],
            "kube-scheduler": [
                programs["kube-scheduler"],
                f"--kubeconfig={self._certificates.kubeconfig('scheduler')}",
                "--leader-elect=false",
            ],
            "kubelet": [
                programs["kubelet"],
                f"--config={self._folder / 'kubelet.json'}",
                f"--kubeconfig={self._certificates.kubeconfig('node')}",
                f"--root-dir={self._folder / 'kubelet'}",
                f"--cert-dir={self._folder / 'kubelet-certificates'}",
                f"--hostname-override={NAME}",
                f"--node-ip={self._plot.address}",
            ],
            "kube-proxy": [programs["kube-proxy"], f"--config={self._folder / 'proxy.json'}"],
        }

    def _apiserver_flags(self) -> list[str]:
        crt, key = self._certificates.crt, self._certificates.key
        return [
            f"--etcd-servers=unix://{etcd_socket(self._folder)}",
            "--bind-address=0.0.0.0",
            f"--advertise-address={self._plot.address}",
            f"--tls-cert-file={crt('apiserver')}",
            f"--tls-private-key-file={key('apiserver')}",
            f"--client-ca-file={crt('ca')}",
            f"--kubelet-client-certificate={crt('admin')}",
            f"--kubelet-client-key={key('admin')}",
            f"--kubelet-certificate-authority={crt('ca')}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={self._certificates.accounts}",
            f"--service-account-signing-key-file={key('accounts')}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-cluster-ip-range={_SERVICES}",
            "--allow-privileged",
            "--profiling=false",
        ]

    def _controller_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self._certificates.kubeconfig('controller-manager')}",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={self._certificates.key('accounts')}",
            f"--root-ca-file={self._certificates.crt('ca')}",
            f"--cluster-signing-cert-file={self._certificates.crt('ca')}",
            f"--cluster-signing-key-file={self._certificates.key('ca')}",
            "--controllers=*",
            "--leader-elect=false",
        ]

    def _kubelet(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._plot.name}",
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "oomScoreAdj": 0,  # less than the machine's own would need a capability that root may not have
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self._certificates.crt("ca"))},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(self._certificates.crt("node")),
            "tlsPrivateKeyFile": str(self._certificates.key("node")),
            "clusterDNS": [DNS_ADDRESS],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self._folder / "resolv.conf"),
            "podLogsDir": str(self._folder / "podlogs"),
            "volumePluginDir": str(self._folder / "plugins"),
            "seccompDefault": True,
            "imageGCHighThresholdPercent": 100,  # an image that was imported cannot be pulled again
            "evictionHard": {"memory.available": "100Mi"},  # and no thresholds for the disk
        }

    def _proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": str(self._certificates.kubeconfig("proxy"))},
            "hostnameOverride": NAME,
            "clusterCIDR": _PODS,
            # Those can be set in the machine's own network only.
            "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "oomScoreAdj": 0,
            "iptables": {"minSyncPeriod": "0s"},
        }

    def _network(self) -> dict[str, Any]:
        addresses = {
            "type": "host-local",
            "dataDir": str(self._folder / "addresses"),
            "ranges": [[{"subnet": _PODS}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": addresses,
        }
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}

    def _json(self, name: str, value: object) -> None:
        (self._folder / name).write_text(json.dumps(value, indent=2))
