"""Files that are replaced while a client runs: its next connections are made with what stands in them now."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from kubernetes.config import incluster_config

from tests.cluster import own
from tests.http.authority import Authority, Pair
from tests.http.serving import serving
from tests.http.test_client_trouble import write_kubeconfig
from trainop.errors import Unreachable
from trainop.kube import credentials, session
from trainop.kube.client import Client
from trainop.kube.port import PODS


class Tls:
    """An API server that shows a certificate, and knows clients by theirs or by a token."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context, self.known, self.hangs_up = context, "", False
        self.port = 0
        self.connections: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            subject = (writer.get_extra_info("peercert") or {}).get("subject", ())
            who = {value for part in subject for _, value in part}
            known = self.known in who or f"Authorization: Bearer {self.known}\r\n" in head
            code, end = (200 if known else 401), "Connection: close\r\n" if self.hangs_up else ""
            writer.write(f"HTTP/1.1 {code} So\r\nContent-Length: 2\r\n{end}\r\n{{}}".encode())
            await writer.drain()
            if self.hangs_up:
                break


@asynccontextmanager
async def listening(context: ssl.SSLContext) -> AsyncIterator[Tls]:
    made = Tls(context)
    async with serving(made.serve, context) as made.port:
        yield made


@pytest.fixture
def authorities(tmp_path: Path) -> tuple[Authority, Authority]:
    with own.or_skip():
        return Authority(tmp_path, "old"), Authority(tmp_path, "new")


def kubeconfig(path: Path, port: int, authority: Path, **user: str) -> str:
    trust = {"certificate-authority": str(authority)}
    return write_kubeconfig(path, f"https://127.0.0.1:{port}", user, **trust)


def showing(ours: Pair, server: Tls, authority: Authority) -> Client:
    """A client that is known by its certificate."""
    user = {"client-certificate": str(ours.certificate), "client-key": str(ours.key)}
    config = ours.key.with_name("config")
    return Client(credentials.load(kubeconfig(config, server.port, authority.certificate, **user)))


async def ask(api: Client) -> None:
    await api.get(PODS, "ns", "a", dict)


async def test_a_new_authority_of_the_server_is_taken_from_the_file(
    authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    old, new = authorities
    shutil.copy(old.certificate, trusted := tmp_path / "ca.crt")
    async with listening(old.server()) as server:
        server.known, server.hangs_up = "token", True
        path = kubeconfig(tmp_path / "config", server.port, trusted, token=server.known)
        async with Client(credentials.load(path)) as api:
            await ask(api)
            shown = new.signed("server", "server")
            server.context.load_cert_chain(shown.certificate, shown.key)
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await ask(api)
            shutil.copy(new.certificate, trusted)
            await ask(api)


@pytest.fixture
def renewed(authorities: tuple[Authority, Authority], tmp_path: Path) -> tuple[Authority, Pair, Pair]:
    """An authority, the files of a client with a certificate for `before`, and one for `after` to put there."""
    authority, ours = authorities[0], Pair(tmp_path / "client.crt", tmp_path / "client.key")
    replace(ours, authority.signed("client", "before"))
    return authority, ours, authority.signed("client", "after")


async def test_a_client_that_is_not_known_any_more_shows_the_certificate_in_the_file(
    renewed: tuple[Authority, Pair, Pair],
) -> None:
    authority, ours, after = renewed
    async with listening(authority.server(asks_who=True)) as server:
        server.known = "before"
        async with showing(ours, server, authority) as api:
            await ask(api)
            await ask(api)
            assert len(server.connections) == 1
            server.known = "after"
            replace(ours, after)
            await ask(api)
            await ask(api)
    # The one that was kept, which is not known any more, and one with the new certificate.
    assert len(server.connections) == 2


def replace(ours: Pair, by: Pair) -> None:
    shutil.copy(by.certificate, ours.certificate)
    shutil.copy(by.key, ours.key)


async def test_files_in_the_midst_of_being_replaced_are_read_again(
    renewed: tuple[Authority, Pair, Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_BETWEEN_RENEWALS", 0)
    authority, ours, after = renewed
    async with listening(authority.server(asks_who=True)) as server:
        server.known = "after"
        async with showing(ours, server, authority) as api:
            shutil.copy(after.certificate, ours.certificate)  # and not yet its key
            with pytest.raises(Unreachable, match="new credentials cannot be had: the certificates in"):
                await ask(api)
            shutil.copy(after.key, ours.key)
            await ask(api)


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of it in the pod that we are in; what is read there is good for no time at all."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setattr(credentials, "_TOKEN_IS_GOOD_FOR", timedelta(0))
    monkeypatch.setattr(session, "_BETWEEN_RENEWALS", 0)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    (tmp_path / "namespace").write_text("trainop")
    return tmp_path


async def test_a_pod_takes_the_token_and_the_authority_that_the_kubelet_puts_there(
    authorities: tuple[Authority, Authority], service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = authorities
    shutil.copy(old.certificate, service_account / "ca.crt")
    (service_account / "token").write_text("first")
    async with listening(old.server()) as server:
        server.known = "first"
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        async with Client(credentials.load()) as api:
            for _ in range(3):
                await ask(api)
            assert len(server.connections) == 1  # files that say the same as before change nothing

            (service_account / "token").write_text("second")
            server.known = "second"
            await ask(api)
            assert len(server.connections) == 2

            shown = new.signed("server", "server")
            server.context.load_cert_chain(shown.certificate, shown.key)
            shutil.copy(new.certificate, service_account / "ca.crt")
            await ask(api)
            assert len(server.connections) == 2  # one that is open is open
            server.connections[-1].transport.abort()
            await ask(api)
            assert len(server.connections) == 3
