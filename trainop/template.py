"""Looking into a user's pod template without trusting its shape and without changing it.

What comes from JSON or YAML is a dict if it is a mapping at all, and to ask for that is cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec


def containers(template: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The regular containers; empty when there is nothing of that shape."""
    spec = template.get("spec")
    return mappings(spec.get("containers")) if isinstance(spec, dict) else []


def mapping(written: Any) -> Mapping[str, Any]:
    """Empty when it is none."""
    return written if isinstance(written, dict) else {}


def mappings(written: Any) -> list[Mapping[str, Any]]:
    """What of a list has the shape of an object."""
    return [item for item in written if isinstance(item, dict)] if isinstance(written, list | tuple) else []


def container(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The container of that name; empty when there is none."""
    return next((c for c in containers(template) if c.get("name") == name), {})


def resources(container: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """The `limits` or `requests` of a container; None when it says nothing of them."""
    found = mapping(container.get("resources")).get(field)
    return None if found is None else mapping(found)


def requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """The resources a container asks for: its requests, or its limits when it says nothing of requests."""
    requests = resources(container, "requests")
    return (resources(container, "limits") or {}) if requests is None else requests


def port(template: Mapping[str, Any], container_name: str, port_name: str, default: int) -> int:
    """The number of the port called `port_name` in that container, else the default."""
    for entry in container(template, container_name).get("ports") or ():
        if entry.get("name") == port_name:
            return int(entry["containerPort"])
    return default


def metadata(template: Mapping[str, Any], field: str) -> dict[str, str]:
    """A copy of the template's labels or annotations."""
    found = (template.get("metadata") or {}).get(field)
    return dict(found) if isinstance(found, dict) else {}


def fingerprint(template: Mapping[str, Any]) -> str:
    """The same for templates that say the same, in whatever order."""
    return blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=8).hexdigest()
