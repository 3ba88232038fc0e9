"""What the words after `trainop run` mean: the job of a file, made to measure, and the options of the run."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.local import checks
from trainop.local.mounts import Mounts
from trainop.local.options import EVERY_IMAGE, Options
from trainop.model import GVK, Job
from trainop.parse import parse
from trainop.registry import frameworks

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def job(file: Path, scale: Iterable[str], options: Options) -> tuple[Framework[Any], Raw, Job[Any]]:
    """As it was written but for its size, and as it was understood. Raises Usage when it cannot be run here."""
    raw = _one_document(file)
    framework = _framework(file, raw)
    _resize(framework, raw, scale)
    found = parse(framework, raw, strict=True)
    name = f"{framework.kind} {found.name}"
    if found.problems:
        raise Usage(f"{file} cannot be run: {'; '.join(map(str, found.problems))}")
    if not found.policy.ours:
        raise Usage(
            f"{name} is managed by {found.policy.managed_by}: remove spec.runPolicy.managedBy to run it here"
        )
    if found.policy.suspend:
        raise Usage(f"{name} is suspended, so nothing would run: set spec.runPolicy.suspend to false")
    if mistakes := checks.mistakes(framework, found, options):
        raise Usage(f"{file} cannot be run here: {'; '.join(mistakes)}")
    return framework, raw, found


def options(mounts: Iterable[str], pythons: Iterable[str], env: Iterable[str]) -> Options:
    return Options(
        Mounts(dict(_mount(text) for text in mounts)),
        dict(_python(text) for text in pythons),
        dict(_pair("--env", text, "NAME=VALUE") for text in env),
    )


def seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not found or not float(found[1]):
        raise Usage(f"--timeout {text}: write a time such as 90s, 10m or 1h")
    return float(found[1]) * SECONDS[found[2]]


def _one_document(file: Path) -> Raw:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except OSError as error:
        raise Usage(f"{file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise Usage(f"{file} is not YAML: {error}") from error
    if len(found) != 1:
        raise Usage(f"{file} has {len(found)} documents: a run takes one job")
    if not isinstance(found[0], dict):
        raise Usage(f"{file} does not describe a job: it has no apiVersion and no kind")
    return found[0]


def _framework(file: Path, raw: Raw) -> Framework[Any]:
    group, _, version = str(raw.get("apiVersion", "")).rpartition("/")
    known, wanted = frameworks(), GVK(group, version, str(raw.get("kind", "")))
    if wanted not in known:
        kinds = ", ".join(f"{gvk.api_version} {gvk.kind}" for gvk in known)
        raise Usage(f"{file}: nobody runs {wanted.api_version} {wanted.kind}; installed are {kinds}")
    return known[wanted]


def _resize(framework: Framework[Any], raw: Raw, scale: Iterable[str]) -> None:
    spec = raw.get("spec")
    written = spec.get(framework.replicas_field) if isinstance(spec, dict) else None
    replicas: Raw = written if isinstance(written, dict) else {}
    spellings = {str(role).lower(): role for role in replicas}
    for text in scale:
        role, number = _pair("--scale", text, "ROLE=N, such as Worker=2")
        if not number.isdecimal():
            raise Usage(f"--scale {text}: write ROLE=N, such as Worker=2")
        spelling = spellings.get(role.lower())
        if spelling is None or not isinstance(replicas[spelling], dict):
            raise Usage(f"--scale {text}: the job has no such role; it has {', '.join(spellings.values())}")
        # A copy: with YAML anchors two roles may be one object.
        replicas[spelling] = {**replicas[spelling], "replicas": int(number)}


def _mount(text: str) -> tuple[str, Path]:
    inside, outside = _pair("--mount", text, "PATH=FOLDER")
    folder = Path(outside).expanduser().absolute()
    if not inside.startswith("/"):
        raise Usage(f"--mount {text}: {inside} must begin with /")
    if not folder.exists():
        raise Usage(f"--mount {text}: {folder} does not exist")
    return inside, folder


def _python(text: str) -> tuple[str, Path]:
    image, _, given = text.rpartition("=")
    path = Path(given).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    found = shutil.which(path)
    if not found:
        raise Usage(f"--python {text}: {path} is no interpreter and no virtual environment")
    return image or EVERY_IMAGE, Path(found).absolute()


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise Usage(f"{option} {text}: write {form}")
    return name, value


def names(framework: Framework[Any], found: Job[Any]) -> Iterator[str]:
    """What the members are called on the screen."""
    for role, replica in found.replicas.items():
        yield from (f"{role.lower()}-{index}" for index in range(replica.replicas))
    yield from (c.name.lower() for c in framework.companions if c.pod(found))
