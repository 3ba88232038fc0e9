"""What service accounts have asked an API server of ours for, as its audit log tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Request(NamedTuple):
    group: str
    resource: str
    """With its subresource: `tfjobs/status`."""
    verb: str
    namespace: str
    name: str
    code: int
    """0: it is a watch that goes on."""
    forbidden: bool
    """The user has no right to it. A quota or another admission plugin answers 403, too, and is not meant."""

    @property
    def right(self) -> tuple[str, str, str]:
        return self.group, self.resource, self.verb

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}".strip("/")
        return f"{self.verb} {self.resource}{self.group and '.' + self.group} {where}: {self.code}"


def requests(log: Path, user: str) -> Iterator[Request]:
    """Those for resources: what is served at all, everyone may ask."""
    sign = json.dumps(user).encode()
    for line in log.read_bytes().splitlines(keepends=True):
        if sign not in line or not line.endswith(b"\n"):  # the last one may be half written
            continue
        event = json.loads(line)
        what = event.get("objectRef")
        if event["user"]["username"] != user or not what or "resource" not in what:
            continue
        yield Request(
            group=what.get("apiGroup", ""),
            resource="/".join(filter(None, (what["resource"], what.get("subresource")))),
            verb=event["verb"],
            namespace=what.get("namespace", ""),
            name=what.get("name", ""),
            code=event.get("responseStatus", {}).get("code", 0),
            forbidden=event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid",
        )
