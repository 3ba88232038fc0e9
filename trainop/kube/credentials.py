"""Where the API server is and who we are to it: told by the pod we run in, or by a kubeconfig."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import yaml
from kubernetes.config import ConfigException, incluster_config, kube_config

from trainop.errors import Usage
from trainop.kube import proxies

_VARIABLES = ("KUBECONFIG", "USE_KUBE_CONFIG")
"""The second is what the first operators asked for."""
NOT_CONFIGURED = "no cluster is configured: set KUBECONFIG, or pass --kubeconfig"
_DEFAULT_FILE = "~/.kube/config"
_TOKEN_IS_GOOD_FOR = timedelta(minutes=1)  # the kubelet replaces the file long before its token expires
_UNUSABLE = (ConfigException, OSError, yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """As of one moment."""

    server: str
    default_namespace: str = "default"
    ca_path: str | None = None
    """None: the authorities that the machine trusts."""
    certificate_path: str | None = None
    private_key_path: str | None = None
    scheme: str | None = None
    token: str | None = field(default=None, repr=False)
    proxy_url: str | None = None
    expiration: datetime | None = None
    """When to ask for new ones."""
    tls_server_name: str | None = None
    kubeconfig: str | None = None
    """Where they came from; None: the pod's own service account."""
    context: str | None = None

    def renewed(self) -> Credentials:
        """From the same source. It may run a plug-in, which takes its time."""
        return _from_kubeconfig(self.kubeconfig, self.context) if self.kubeconfig else _from_pod()

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"{self.scheme} {self.token}"} if self.token else {}

    def tls(self) -> ssl.SSLContext:
        """Verifies the server, always."""
        try:
            context = ssl.create_default_context(cafile=self.ca_path)
            if self.certificate_path:
                context.load_cert_chain(self.certificate_path, self.private_key_path)
        except (OSError, ValueError) as error:
            where = self.kubeconfig or "the service account"
            raise Usage(f"the certificates in {where} cannot be read: {error}") from error
        return context


def load(kubeconfig: str | None = None, context: str | None = None) -> Credentials:
    """A kubeconfig that is named, here or in the environment, goes before the pod we run in."""
    named = kubeconfig or next(filter(None, map(os.environ.get, _VARIABLES)), None)
    if not named and not context and Path(incluster_config.SERVICE_TOKEN_FILENAME).is_file():
        return _from_pod()
    return _from_kubeconfig(named or _DEFAULT_FILE, context)


def _from_pod() -> Credentials:
    files = incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME
    try:
        # The loaders set attributes on what they are given; a client configuration has defaults of its own.
        found = SimpleNamespace(api_key={})
        loader = incluster_config.InClusterConfigLoader(*files)  # type: ignore[no-untyped-call]  # untyped there
        loader.load_and_set(found)  # type: ignore[no-untyped-call]  # untyped there
        namespace = Path(files[0]).with_name("namespace").read_text().strip()
    except _UNUSABLE as error:
        raise Usage(f"the service account of this pod cannot be used: {error}") from error
    scheme, token = _authorization(found)
    return Credentials(
        server=found.host,
        default_namespace=namespace,
        ca_path=found.ssl_ca_cert,
        scheme=scheme,
        token=token,
        proxy_url=proxies.of_environment(found.host),
        expiration=datetime.now(UTC) + _TOKEN_IS_GOOD_FOR,
    )


def _from_kubeconfig(path: str, context: str | None) -> Credentials:
    found = SimpleNamespace(
        api_key={}, host="", verify_ssl=True, ssl_ca_cert=None, cert_file=None, key_file=None
    )
    try:
        config = kube_config.KubeConfigMerger(path).config  # type: ignore[no-untyped-call]  # untyped there
        if config is None:
            raise Usage(NOT_CONFIGURED if path == _DEFAULT_FILE else f"there is no kubeconfig {path}")
        loader = kube_config.KubeConfigLoader(config, active_context=context, config_base_path=None)  # type: ignore[no-untyped-call]  # untyped there
        loader.load_and_set(found)  # type: ignore[no-untyped-call]  # untyped there
        namespace = loader.current_context["context"].get("namespace")
    except _UNUSABLE as error:
        # Some of these messages quote the entry they complain about, with the secrets in it.
        reason = str(error).partition("/{")[0]
        raise Usage(f"kubeconfig {path} cannot be used: {reason}") from None
    scheme, token = _authorization(found)
    _check(path, found, known=bool(token or found.cert_file))
    return Credentials(
        server=found.host,
        default_namespace=namespace or "default",
        ca_path=found.ssl_ca_cert,
        certificate_path=found.cert_file,
        private_key_path=found.key_file,
        scheme=scheme,
        token=token,
        proxy_url=getattr(found, "proxy", None) or proxies.of_environment(found.host),
        expiration=getattr(loader, "expiry", None),
        tls_server_name=getattr(found, "tls_server_name", None),
        kubeconfig=path,
        context=context,
    )


def _check(path: str, found: SimpleNamespace, *, known: bool) -> None:
    if not found.verify_ssl:
        raise Usage(
            f"kubeconfig {path} has insecure-skip-tls-verify, but trainop talks to no server it cannot verify: "
            "put the certificate-authority of the cluster there instead"
        )
    scheme = _scheme(found.host)
    if not scheme:
        raise Usage(f"kubeconfig {path} names the server {found.host!r}: it has to be an https address")
    if scheme == "https" and not known:
        raise Usage(f"kubeconfig {path} gives no credentials (a plug-in may have failed): log in again")


def _authorization(found: SimpleNamespace) -> tuple[str | None, str | None]:
    scheme, _, token = str(found.api_key.get("BearerToken", "")).strip().partition(" ")
    return (scheme.title(), token) if token else (None, None)


def _scheme(server: str) -> str:
    """Empty: it cannot be talked to, or not in private."""
    try:
        url = urlsplit(server)
        _ = url.port  # raises for one that is none
    except ValueError:
        return ""
    private = url.scheme == "https" or (url.scheme == "http" and proxies.is_loopback(url.hostname))
    return url.scheme if private else ""
