"""Through a proxy to a real API server: TLS goes from end to end inside of the tunnel, whatever the proxy speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.cluster import own
from tests.cluster.controlplane import Cluster
from tests.http.authority import Authority
from tests.http.tunnel import Tunnel, tunnel
from trainop.errors import Unreachable, Usage
from trainop.kube import credentials, wire
from trainop.kube.client import Client
from trainop.kube.credentials import Credentials
from trainop.kube.port import PODS

NAME = "kubernetes.default.svc"
"""Of the API server in its certificate; nobody but the proxy knows where that is."""
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


@pytest.fixture
def server(control_plane: Cluster) -> tuple[str, int]:
    url = urlsplit(credentials.load(str(control_plane.kubeconfig)).server)
    if url.hostname != "127.0.0.1" or url.port is None:
        pytest.skip("TRAINOP_TEST_KUBECONFIG names a cluster that may not be known by this name")
    return url.hostname, url.port


@pytest.fixture
async def proxy(server: tuple[str, int]) -> AsyncIterator[Tunnel]:
    async with tunnel(server) as made:
        yield made


@pytest.fixture
def far_away(control_plane: Cluster, server: tuple[str, int], tmp_path: Path) -> Path:
    """A kubeconfig that knows the API server by a name that this machine does not know."""
    path = tmp_path / "kubeconfig"
    path.write_text(control_plane.kubeconfig.read_text())
    return changed(path, server=f"https://{NAME}:{server[1]}")


def changed(kubeconfig: Path, **cluster: str) -> Path:
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"] |= cluster
    kubeconfig.write_text(yaml.safe_dump(config))
    return kubeconfig


def to(far_away: Path, proxy: str) -> Credentials:
    return replace(credentials.load(str(far_away)), proxy_url=proxy)


async def live(api: Client, namespace: str) -> list[str]:
    """What a watch tells of a pod that comes and goes."""
    since = (await api.list(PODS, wire.Pod, namespace=namespace)).resource_version
    made = await api.create(PODS, namespace, POD, wire.Pod)
    await api.delete(PODS, namespace, "a", made.metadata.uid)
    told: list[str] = []
    watch = api.watch(PODS, wire.Pod, since=since, namespace=namespace)
    async with asyncio.timeout(60), aclosing(watch):
        async for change in watch:
            told.append(change.type)
            if change.type == "DELETED":
                break
    return told


async def test_the_proxy_of_the_environment_leads_to_the_server_and_reads_nothing(
    proxy: Tunnel, far_away: Path, namespace: str, server: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.place}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    who = credentials.load(str(far_away))
    async with Client(who) as api:
        told = await live(api, namespace)
    assert (told[0], told[-1]) == ("BOOKMARK", "DELETED")
    assert set(proxy.asked) == {f"CONNECT {NAME}:{server[1]} HTTP/1.1"}
    assert who.token
    assert who.token.encode() not in proxy.passed
    assert b"HTTP/1.1" not in proxy.passed


async def test_the_proxy_of_the_kubeconfig_goes_before_that_of_the_environment(
    proxy: Tunnel, far_away: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://nobody.test:1")
    changed(far_away, **{"proxy-url": f"http://{proxy.place}"})
    async with Client(credentials.load(str(far_away))) as api:
        await api.list(PODS, wire.Pod, namespace=namespace)
    assert proxy.asked


async def test_requests_one_after_another_go_through_one_tunnel(
    proxy: Tunnel, far_away: Path, namespace: str
) -> None:
    async with Client(to(far_away, f"http://{proxy.place}")) as api:
        for _ in range(3):
            await api.list(PODS, wire.Pod, namespace=namespace)
    assert len(proxy.asked) == 1


async def test_a_proxy_that_speaks_tls_itself_is_passed_as_well(
    server: tuple[str, int], far_away: Path, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own.or_skip():
        authority = Authority(tmp_path, "proxies")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))  # what the machine trusts
    async with tunnel(server, authority.server()) as proxy:
        async with Client(to(far_away, f"https://{proxy.place}")) as api:
            assert (await live(api, namespace))[-1] == "DELETED"
        assert proxy.asked


async def test_a_proxy_that_nobody_vouches_for_is_named_and_told_nothing(
    server: tuple[str, int], far_away: Path, tmp_path: Path
) -> None:
    with own.or_skip():
        authority = Authority(tmp_path, "proxies")
    async with tunnel(server, authority.server()) as proxy:
        async with Client(to(far_away, f"https://me:s3cr3t@{proxy.place}")) as api:
            with pytest.raises(Unreachable, match="certificate") as complaint:
                await api.list(PODS, wire.Pod)
        assert f"the proxy {proxy.place} cannot be reached" in str(complaint.value)
        assert "s3cr3t" not in str(complaint.value)
        assert not proxy.asked


async def test_a_proxy_that_is_not_there_is_named(far_away: Path) -> None:
    async with tunnel(("127.0.0.1", 1)) as proxy:
        pass
    async with Client(to(far_away, f"http://{proxy.place}")) as api:
        with pytest.raises(Unreachable, match=f"the proxy {proxy.place} cannot be reached"):
            await api.list(PODS, wire.Pod)


async def test_whoever_waits_at_the_end_of_the_tunnel_has_to_be_the_server(
    proxy: Tunnel, far_away: Path
) -> None:
    stranger = replace(to(far_away, f"http://{proxy.place}"), tls_server_name="stranger.test")
    async with Client(stranger) as api:
        with pytest.raises(Unreachable, match="certificate"):
            await api.list(PODS, wire.Pod)
    assert b"Bearer" not in proxy.passed


@pytest.mark.parametrize(
    "proxy", ["socks5://me:s3cr3t@proxy.test:1080", "me:s3cr3t@proxy.test", "http://a:b"]
)
async def test_a_proxy_of_another_kind_is_refused_in_one_line_without_its_secret(proxy: str) -> None:
    with pytest.raises(Usage, match="is no address of a proxy: ") as complaint:
        Client(Credentials(server="https://example.test", proxy_url=proxy))
    assert "s3cr3t" not in str(complaint.value)
    assert "\n" not in str(complaint.value)
