"""Through which proxy a server is reached, as the environment tells every client of Kubernetes."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit


def of_environment(server: str) -> str | None:
    """HTTPS_PROXY, but not for whom NO_PROXY names, and never for this machine itself."""
    proxy = _variable("HTTPS_PROXY")
    try:
        url = urlsplit(server)
        host, port = (url.hostname or "").rstrip("."), str(url.port or 443)
    except ValueError:
        return None  # whoever connects says what is wrong with it
    if not proxy or url.scheme != "https" or is_loopback(host):
        return None
    if any(_fits(entry.strip().lower(), host, port) for entry in _variable("NO_PROXY").split(",")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _variable(name: str) -> str:
    return (os.environ.get(name) or os.environ.get(name.lower()) or "").strip()


def _fits(entry: str, host: str, port: str) -> bool:
    """An entry is `*`, an address, a network, or a name that stands for all below it, perhaps with a port."""
    if entry == "*" or _has(entry, host):
        return True
    name, _, only = entry.partition(":")
    name = name.removeprefix("*")
    below = name if name.startswith(".") else f".{name}"
    return bool(name) and only in ("", port) and (host == name or host.endswith(below))


def _has(network: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
