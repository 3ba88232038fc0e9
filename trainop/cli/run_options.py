"""What the words after `trainop run` mean: the job of a file, made to measure, and the options of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trainop.cli import mistakes
from trainop.errors import Usage
from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.local import checks
from trainop.local.mounts import Mounts
from trainop.local.options import EVERY_IMAGE, Options
from trainop.model import Job
from trainop.parse import parse


def job(file: str, scale: Iterable[str], options: Options) -> tuple[Framework[Any], Raw, Job[Any]]:
    """As it was written but for its size, and as it was understood. Raises Usage when it cannot be run here."""
    jobs = mistakes.good(file)
    if len(jobs) > 1:
        raise Usage(f"{file} has {len(jobs)} jobs: a run takes one")
    framework, raw = jobs[0].framework, jobs[0].raw
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
    if missing := checks.mistakes(framework, found, options):
        raise Usage(f"{file} cannot be run here: {'; '.join(missing)}")
    return framework, raw, found


def options(mounts: Iterable[str], pythons: Iterable[str], env: Iterable[str]) -> Options:
    return Options(
        Mounts(dict(_mount(text) for text in mounts)),
        dict(_python(text) for text in pythons),
        dict(_pair("--env", text, "NAME=VALUE") for text in env),
    )


def _resize(framework: Framework[Any], raw: Raw, scale: Iterable[str]) -> None:
    places = _places(framework, raw)
    spellings = {role.lower(): role for role in places}
    for text in scale:
        role, number = _pair("--scale", text, "ROLE=N, such as Worker=2")
        if not number.isdecimal():
            raise Usage(f"--scale {text}: write ROLE=N, such as Worker=2")
        spelling = spellings.get(role.lower())
        if spelling is None:
            raise Usage(f"--scale {text}: the job has no such role; it has {', '.join(spellings.values())}")
        holder, key = places[spelling]
        # A copy: with YAML anchors two roles may be one object.
        holder[key] = {**holder[key], "replicas": int(number)}


def _places(framework: Framework[Any], raw: Raw) -> dict[str, tuple[Any, Any]]:
    """Of each role of a job without mistakes: what holds its spec, and under which key."""
    field = framework.replicas_field
    if framework.manner.read is None:
        return {str(role): (raw["spec"][field], role) for role in raw["spec"][field]}
    reading, found = framework.manner.read(raw), {}
    for role in reading.spec[field]:
        place = reading.places[f"spec.{field}.{role}"].removeprefix("spec.")
        name, _, number = place.removesuffix("]").partition("[")
        found[role] = raw["spec"][name], int(number)
    return found


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
