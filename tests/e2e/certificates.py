"""Who is who in the cluster: an authority of its own, a certificate for each program, and their kubeconfigs."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import controlplane
from tests.cluster.build import Unavailable

NAME = "node0"
"""What the node is called."""
_EC = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")  # made at once, unlike RSA
_NEW = ("req", "-x509", "-new", "-days", "30", "-config", "openssl.cnf")
_CONFIG = "[req]\ndistinguished_name = name\n[name]\n"
_SERVICE = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_AUTHORITY = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
_MEMBER = (
    "basicConstraints=critical,CA:FALSE",
    "extendedKeyUsage=serverAuth,clientAuth",
    "authorityKeyIdentifier=keyid",
)
_SUBJECTS = {
    "apiserver": "/CN=kube-apiserver",
    "node": f"/O=system:nodes/CN=system:node:{NAME}",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
    "admin": "/O=system:masters/CN=admin",
}


@dataclass(frozen=True)
class Certificates:
    folder: Path

    def crt(self, who: str) -> Path:
        return self.folder / f"{who}.crt"

    def key(self, who: str) -> Path:
        return self.folder / f"{who}.key"

    @property
    def accounts(self) -> Path:
        """The public half of the key that signs the tokens of service accounts."""
        return self.folder / "accounts.pub"

    def kubeconfig(self, who: str) -> Path:
        return self.folder / f"{who}.kubeconfig"


def make(folder: Path, address: str) -> Certificates:
    """For a node with this address; the kubeconfigs can be used on it and on the machine it runs on."""
    folder.mkdir(mode=0o700)
    made = Certificates(folder)
    (folder / "openssl.cnf").write_text(_CONFIG)
    _openssl(folder, "genpkey", *_EC, "-out", "accounts.key")
    _openssl(folder, "pkey", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
    _sign(made, "ca", "/CN=trainop-node", _AUTHORITY)
    for who, subject in _SUBJECTS.items():
        _sign(made, who, subject, [*_MEMBER, *_names(who, address)], "-CA", "ca.crt", "-CAkey", "ca.key")
        user = {
            "client-certificate-data": _base64(made.crt(who)),
            "client-key-data": _base64(made.key(who)),
        }
        text = controlplane.kubeconfig(f"https://{address}:6443", made.crt("ca"), user)
        made.kubeconfig(who).touch(mode=0o600)
        made.kubeconfig(who).write_text(text)
    return made


def _names(who: str, address: str) -> Sequence[str]:
    """What a server is called by those who connect to it."""
    match who:
        case "apiserver":
            names = ",".join(f"DNS:{name}" for name in (*_SERVICE, "localhost"))
            return [f"subjectAltName={names},IP:10.96.0.1,IP:127.0.0.1,IP:{address}"]
        case "node":
            return [f"subjectAltName=DNS:{NAME},IP:{address}"]
        case _:
            return []


def _sign(made: Certificates, who: str, subject: str, extensions: Sequence[str], *signer: str) -> None:
    _openssl(made.folder, "genpkey", *_EC, "-out", f"{who}.key")
    words = [
        word for extension in ("subjectKeyIdentifier=hash", *extensions) for word in ("-addext", extension)
    ]
    _openssl(
        made.folder, *_NEW, "-key", f"{who}.key", "-subj", subject, *words, *signer, "-out", f"{who}.crt"
    )


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(  # noqa: S603 - no input
        ["openssl", *words], cwd=folder, capture_output=True, text=True, check=False  # noqa: S607 - the system's
    )  # fmt: skip
    if done.returncode != 0:
        raise Unavailable(f"openssl {words[0]} failed; version 3 or newer is needed:\n{done.stderr}")


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
