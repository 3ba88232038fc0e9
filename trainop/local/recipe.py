"""What to start for a container: its words, its environment and its folder, as they are on this machine."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainop.kube.port import Raw
from trainop.local.expansion import expand, expand_in_order
from trainop.local.mounts import Mounts
from trainop.local.options import Options
from trainop.template import mappings

ADDRESS = "127.0.0.1"
NODE = "localhost"
Written = Mapping[str, Any]
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


@dataclass(frozen=True)
class Recipe:
    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str


def recipe(pod: Raw, container: Raw, options: Options, mounts: Mounts, beneath: Mapping[str, str]) -> Recipe:
    """`beneath` is what the container finds in its environment unless the job says otherwise."""
    own = expand_in_order([*_values(pod, container), *options.env.items()])
    words = [expand(str(word), own) for field in ("command", "args") for word in container.get(field) or ()]
    env = {**beneath, **{name: mounts.translate(value) for name, value in own.items()}}
    python = options.python(str(container.get("image", "")))
    if python is not None:
        env["PATH"] = f"{python.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    argv = [mounts.translate(word) for word in words]
    argv[:1] = [_program(word, python, env) for word in argv[:1]]
    return Recipe(tuple(argv), env, mounts.translate(str(container.get("workingDir") or Path.cwd())))


def sourced(container: Written) -> Iterator[tuple[str, Written]]:
    """The variables whose values come from somewhere else."""
    for entry in mappings(container.get("env")):
        for source in mappings([entry.get("valueFrom")]):
            yield str(entry.get("name")), source


def from_pod(pod: Raw, source: Written) -> str | None:
    """What the downward API tells; None: that cannot be known here."""
    field = next((str(ref.get("fieldPath")) for ref in mappings([source.get("fieldRef")])), "")
    metadata = pod["metadata"]
    if found := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", field):
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    known = {
        "metadata.name": metadata.get("name"),
        "metadata.namespace": metadata.get("namespace"),
        "metadata.uid": metadata.get("uid"),
        "spec.nodeName": NODE,
        "spec.serviceAccountName": pod.get("spec", {}).get("serviceAccountName", "default"),
        "status.podIP": ADDRESS,
        "status.podIPs": ADDRESS,
        "status.hostIP": ADDRESS,
    }
    return known.get(field)


def _values(pod: Raw, container: Raw) -> Iterator[tuple[str, str]]:
    elsewhere = {name: from_pod(pod, source) for name, source in sourced(container)}
    for entry in mappings(container.get("env")):
        name = str(entry.get("name"))
        value = elsewhere.get(name) if entry.get("valueFrom") else str(entry.get("value") or "")
        if value is not None:
            yield name, value


def _program(word: str, python: Path | None, env: Mapping[str, str]) -> str:
    """The image's interpreter is not here: another one takes its place."""
    name = Path(word).name
    if not _PYTHON.fullmatch(name):
        return word
    if python is not None:
        return str(python)
    if name != word or shutil.which(word, path=env.get("PATH")):
        return word
    return "python3"
