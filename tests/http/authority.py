"""Certificates for tests: an authority that signs for servers and for clients."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.build import Unavailable

_EXTENSIONS = {
    "server": ("subjectAltName=DNS:localhost,IP:127.0.0.1", "extendedKeyUsage=serverAuth"),
    "client": ("extendedKeyUsage=clientAuth",),
}


@dataclass(frozen=True)
class Pair:
    certificate: Path
    key: Path


class Authority:
    def __init__(self, folder: Path, name: str) -> None:
        """Raises Unavailable where there is no openssl."""
        self._folder = folder / name
        self._folder.mkdir()
        self._own = self._made(name, "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign")

    @property
    def certificate(self) -> Path:
        return self._own.certificate

    def signed(self, use: str, name: str) -> Pair:
        """For a `server` on this machine, or for a `client`."""
        return self._made(name, "basicConstraints=critical,CA:FALSE", *_EXTENSIONS[use], by=self._own)

    def server(self, *, asks_who: bool = False) -> ssl.SSLContext:
        """What a server on this machine shows; one that `asks_who` talks to nobody whom we have not signed."""
        pair, context = self.signed("server", "server"), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        if asks_who:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.certificate)
        return context

    def _made(self, name: str, *extensions: str, by: Pair | None = None) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", f"/CN={name}", "-keyout", pair.key, "-out", pair.certificate),
            *(word for extension in extensions for word in ("-addext", extension)),
            *(("-CA", by.certificate, "-CAkey", by.key) if by else ()),
        )
        return pair


def _openssl(*words: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise Unavailable("there is no openssl on PATH: install version 3 of it.")
    done = subprocess.run(  # noqa: S603 - openssl with a test's own words
        [program, *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unavailable(f"openssl is not as these tests want it, version 3: {done.stderr}")
