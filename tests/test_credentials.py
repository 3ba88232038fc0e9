"""Where the API server is and who we are: from a pod, from a kubeconfig, and what is said when neither will do."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config

from trainop.errors import Usage
from trainop.kube import credentials

SECRET = "s3cr3t"  # noqa: S105 - nobody's


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cluster is configured, whatever the machine is."""
    for variable in ("KUBECONFIG", "USE_KUBE_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))


def write(path: Path, user: dict[str, Any] | None = None, **cluster: Any) -> str:
    """A kubeconfig; JSON is YAML."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://example.test:6443"} | cluster}],
        "users": [{"name": "u", "user": {"token": SECRET} if user is None else user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "ml"}},
            {"name": "two", "context": {"cluster": "c", "user": "u"}},
        ],
        "current-context": "one",
    }
    path.write_text(json.dumps(config))
    return str(path)


def test_a_kubeconfig_is_read(tmp_path: Path) -> None:
    found = credentials.load(write(tmp_path / "config"))
    assert (found.server, found.default_namespace) == ("https://example.test:6443", "ml")
    assert found.headers() == {"Authorization": f"Bearer {SECRET}"}
    assert SECRET not in repr(found)


def test_another_context_can_be_named(tmp_path: Path) -> None:
    assert credentials.load(write(tmp_path / "config"), "two").default_namespace == "default"


@pytest.mark.parametrize("variable", ["KUBECONFIG", "USE_KUBE_CONFIG"])
def test_kubeconfig_in_the_environment_goes_before_the_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    (tmp_path / "token").write_text("x")
    monkeypatch.setenv(variable, write(tmp_path / "config"))
    assert credentials.load().default_namespace == "ml"


def test_the_file_in_the_home_folder_is_the_default(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config")
    assert credentials.load().default_namespace == "ml"


def test_a_pod_uses_its_service_account_and_sees_a_new_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    for name, text in {"token": "old\n", "ca.crt": "pem", "namespace": "trainop"}.items():
        (tmp_path / name).write_text(text)
    found = credentials.load()
    assert (found.server, found.default_namespace) == ("https://[fd00::1]:443", "trainop")
    assert found.headers() == {"Authorization": "Bearer old"}
    assert found.expiration is not None
    assert found.expiration - datetime.now(UTC) <= timedelta(minutes=1)
    (tmp_path / "token").write_text("new")
    assert found.renewed().headers() == {"Authorization": "Bearer new"}


def test_a_plug_in_gives_a_token_and_its_end(tmp_path: Path) -> None:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": SECRET, "expirationTimestamp": "2030-01-01T00:00:00Z"},
    }
    found = credentials.load(write(tmp_path / "config", plug_in(f"print({json.dumps(answer)!r})")))
    assert found.headers() == {"Authorization": f"Bearer {SECRET}"}
    assert found.expiration == datetime(2030, 1, 1, tzinfo=UTC)


def plug_in(program: str) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-c", program]}}


def test_a_name_and_a_password_are_an_authorization_too(tmp_path: Path) -> None:
    found = credentials.load(write(tmp_path / "config", {"username": "u", "password": "p"}))
    assert found.headers() == {"Authorization": "Basic dTpw"}


def test_without_any_configuration_it_is_said_what_to_do() -> None:
    with pytest.raises(Usage, match=r"^no cluster is configured: set KUBECONFIG, or pass --kubeconfig$"):
        credentials.load()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Usage, match=r"there is no kubeconfig .*/nope$"):
        credentials.load(str(tmp_path / "nope"))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "clusters: 3", "\0", "clusters: [x]", "contexts: []"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(Usage, match=r"kubeconfig .*/config cannot be used: "):
        credentials.load(str(tmp_path / "config"))


def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="three"):
        credentials.load(write(tmp_path / "config"), "three")


def test_no_secret_is_quoted_in_a_complaint(tmp_path: Path) -> None:
    path = tmp_path / "config"
    write(path)
    path.write_text(path.read_text().replace('"user": {', '"usr": {'))
    with pytest.raises(Usage, match="Expected key user") as complaint:
        credentials.load(str(path))
    assert SECRET not in str(complaint.value)


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ({"insecure-skip-tls-verify": True}, "insecure-skip-tls-verify"),
        ({"server": "http://10.0.0.1:8080"}, "https"),
        ({"server": ""}, "https"),
        ({"server": "https://["}, "https"),
        ({"server": "https://a:b"}, "https"),
        ({"certificate-authority": "nope.crt"}, "nope.crt"),
        ({"certificate-authority-data": "x"}, "cannot be used"),
    ],
)
def test_a_server_that_cannot_be_verified_is_not_talked_to(
    tmp_path: Path, cluster: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(Usage, match=complaint):
        credentials.load(write(tmp_path / "config", **cluster))


def test_a_proxy_on_this_machine_needs_no_tls(tmp_path: Path) -> None:
    path = write(tmp_path / "config", {}, server="http://127.0.0.1:8001")
    assert credentials.load(path).headers() == {}


@pytest.mark.parametrize("user", [{}, plug_in("raise SystemExit(1)")])
def test_nobody_is_not_an_identity(tmp_path: Path, user: dict[str, Any]) -> None:
    with pytest.raises(Usage, match="log in again"):
        credentials.load(write(tmp_path / "config", user))


def test_a_certificate_that_is_none_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no PEM")
    found = credentials.load(write(tmp_path / "config", None, **{"certificate-authority": "ca.crt"}))
    with pytest.raises(Usage, match=r"certificates in .*/config cannot be read"):
        found.tls()
