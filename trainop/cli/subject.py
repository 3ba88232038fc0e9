"""Which job somebody means: a name, KIND/NAME, a file that names it, or the directory of a local run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from trainop.cli.options import Where
from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.client import Client
from trainop.kube.find import Found, Wanted, find, serving
from trainop.registry import frameworks
from trainop.rundir import Run, newest

FILES = (".yaml", ".yml", ".json")


class Written(NamedTuple):
    """A job in a file."""

    path: Path
    framework: Framework[Any]
    raw: Mapping[str, Any]

    @property
    def wanted(self) -> Wanted:
        metadata = self.raw.get("metadata") or {}
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        if not isinstance(name, str):
            raise Usage(f"the job in {self.path} has no metadata.name: say which job you mean by its name")
        return Wanted(name, self.framework.word)

    @property
    def namespace(self) -> str | None:
        metadata = self.raw.get("metadata") or {}
        return metadata.get("namespace") if isinstance(metadata, Mapping) else None


Subject = Wanted | Written | Run


def subject(text: str) -> Subject:
    """A file or folder that happens to be called like a job is not meant, unless it looks like what we read."""
    path = Path(text)
    if (path / "state.json").is_file():
        return Run(path)
    if path.suffix in FILES:
        return _written(path)
    kind, _, name = text.rpartition("/")
    if kind == "run":
        return newest(name)
    if not name or "/" in kind or kind.startswith(".") or text.startswith("/"):
        raise Usage(f"{text} is no run directory (it holds no state.json) and no name of a job")
    if kind:
        serving(frameworks(), kind)
    return Wanted(name, kind)


def _written(path: Path) -> Written:
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
    except OSError as error:
        raise Usage(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Usage(f"{path} is no YAML: {error}") from error
    kinds = {
        (version, framework.kind): framework
        for framework in frameworks().values()
        for version in framework.api_versions
    }
    found = [
        Written(path, kinds[kind], raw)
        for raw in documents
        if isinstance(raw, Mapping) and (kind := (raw.get("apiVersion"), raw.get("kind"))) in kinds
    ]
    if len(found) != 1:
        known = ", ".join(f"{gvk.api_version} {gvk.kind}" for gvk in frameworks())
        raise Usage(f"{path} holds {len(found) or 'no'} jobs, not one; known kinds: {known}")
    return found[0]


def in_cluster(text: str) -> Wanted | Written:
    """Of a command that makes sense for a job in a cluster only."""
    found = subject(text)
    if isinstance(found, Run):
        raise Usage(f"{text} is a local run: this command is for jobs in a cluster")
    return found


@asynccontextmanager
async def opened(where: Where, meant: Wanted | Written) -> AsyncIterator[tuple[Client, Found]]:
    """The cluster, and the job there."""
    login = where.credentials()
    wanted, own = (meant.wanted, meant.namespace) if isinstance(meant, Written) else (meant, None)
    async with Client(login) as api:
        yield api, await find(api, frameworks(), where.namespace or own or login.default_namespace, wanted)
