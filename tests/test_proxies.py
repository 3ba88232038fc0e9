"""HTTPS_PROXY and NO_PROXY: who is reached through a proxy, and who is not."""

from __future__ import annotations

import pytest

from trainop.kube import proxies

PROXY = "http://proxy.test:3128"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy"])
def test_the_environment_names_the_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxies.of_environment("https://10.0.0.1:6443") is None
    monkeypatch.setenv(variable, PROXY)
    assert proxies.of_environment("https://10.0.0.1:6443") == PROXY


def test_a_proxy_without_a_scheme_speaks_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.test:3128")
    assert proxies.of_environment("https://10.0.0.1:6443") == PROXY


@pytest.mark.parametrize("server", ["https://127.0.0.1:6443", "https://localhost:1", "https://[::1]:1"])
def test_this_machine_is_reached_without_one(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    assert proxies.of_environment(server) is None


@pytest.mark.parametrize("server", ["https://[", "https://a:b", "", "http://a.test"])
def test_an_address_that_nobody_can_connect_to_needs_none(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    assert proxies.of_environment(server) is None


@pytest.mark.parametrize(
    ("entry", "server", "spared"),
    [
        ("*", "https://a.test", True),
        ("a.test", "https://a.test", True),
        ("a.test", "https://x.A.test", True),
        ("a.test", "https://ba.test", False),
        (".a.test", "https://x.a.test", True),
        (".a.test", "https://a.test", False),
        ("*.a.test", "https://x.a.test", True),
        ("b.test, a.test", "https://a.test.", True),
        ("a.test:6443", "https://a.test:6443", True),
        ("a.test:6443", "https://a.test", False),
        ("a.test:443", "https://a.test", True),
        ("10.96.0.1", "https://10.96.0.1", True),
        ("10.96.0.0/12", "https://10.96.0.1", True),
        ("10.96.0.0/12", "https://10.95.0.1", False),
        ("10.96.0.0/12", "https://a.test", False),
        ("fd00::/8", "https://[fd00::1]:443", True),
        ("fd00::1", "https://[fd00::2]", False),
        ("", "https://a.test", False),
        (" , ,", "https://a.test", False),
    ],
)
def test_whom_no_proxy_names_is_reached_without_one(
    entry: str, server: str, spared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", entry)
    assert proxies.of_environment(server) == (None if spared else PROXY)
