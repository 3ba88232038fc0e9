"""What of a job cannot work on this machine: mistakes that end the run before it begins, and things to know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.local.options import Options
from trainop.local.recipe import from_pod, sourced
from trainop.local.volumes import mounted
from trainop.model import Job
from trainop.template import containers, mappings

Container = Mapping[str, Any]
Found = list[tuple[str, Mapping[str, Any], Container]]
"""Where it stands, the spec of its pod, and the container itself."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_MESSAGE = "must consist of lower-case letters, digits and -"
_NOBODY: Raw = {"metadata": {"name": "", "namespace": "", "uid": ""}, "spec": {}}


def mistakes(framework: Framework[Any], job: Job[Any], options: Options) -> list[str]:
    """What a person has to change first, a sentence each."""
    found = [
        f"{where}{mistake}"
        for where, spec, container in _containers(framework, job)
        for mistake in (*_misnamed(container), *_misplaced(spec, container), *_missing(container, options))
    ]
    return list(dict.fromkeys(found))


def _misnamed(container: Container) -> Iterator[str]:
    """Its log is called so, too."""
    if not _NAME.fullmatch(str(container.get("name", ""))):
        yield f".name {_NAME_MESSAGE}"


def _misplaced(spec: Mapping[str, Any], container: Container) -> Iterator[str]:
    """Folders are made for volumes: below the run's own, and nowhere else."""
    for path, volume, mount in mounted(spec, container):
        below = PurePosixPath(str(mount.get("subPath") or ""))
        if not _NAME.fullmatch(str(volume.get("name"))):
            yield f": the name of the volume at {path} {_NAME_MESSAGE}"
        if below.is_absolute() or ".." in below.parts:
            yield f": the subPath of the volume at {path} must be a path below it, without `..`"


def _missing(container: Container, options: Options) -> Iterator[str]:
    if not container.get("command"):
        yield " has no command: images are not pulled here, so add the command to run"
    folder = container.get("workingDir")
    if folder and not Path(options.mounts.translate(str(folder))).is_dir():
        yield f" works in {folder}, which is not here: pass --mount {folder}=FOLDER"


def remarks(framework: Framework[Any], job: Job[Any], options: Options) -> list[str]:
    """What is different here, a sentence each, with what to pass."""
    everyone = list(_containers(framework, job))
    found = chain(
        _images(everyone, options),
        _resources(everyone),
        _volumes(everyone, options),
        _values(everyone, options),
    )
    return list(dict.fromkeys(found))


def _images(everyone: Found, options: Options) -> Iterator[str]:
    images = dict.fromkeys(str(c.get("image", "")) for _, _, c in everyone)
    without = [image for image in images if options.python(image) is None]
    if without:
        yield (
            f"images are not pulled ({', '.join(without)}): commands run as they are on this machine, "
            "with the python on PATH, or another one: --python IMAGE=PATH"
        )


def _resources(everyone: Found) -> Iterator[str]:
    names: dict[str, None] = {}
    for _, _, container in everyone:
        for resources in mappings([container.get("resources")]):
            for named in mappings([resources.get("limits"), resources.get("requests")]):
                names.update(dict.fromkeys(map(str, named)))
    if names:
        yield f"resources are not enforced: {', '.join(names)}"


def _volumes(everyone: Found, options: Options) -> Iterator[str]:
    missing: dict[str, None] = {}
    for _, spec, container in everyone:
        for path, volume, _ in mounted(spec, container):
            if "emptyDir" not in volume and not options.mounts.covers(path):
                missing[path] = None
    for path in missing:
        yield f"the volume at {path} is not here: pass --mount {path}=FOLDER"


def _values(everyone: Found, options: Options) -> Iterator[str]:
    names: dict[str, None] = {}
    for _, _, container in everyone:
        for name, source in sourced(container):
            if from_pod(_NOBODY, source) is None and name not in options.env:
                names[name] = None
        if container.get("envFrom"):
            yield "envFrom is not read: pass what the job needs of it with --env NAME=VALUE"
    for name in names:
        yield f"the value of {name} is kept in the cluster: pass --env {name}=VALUE"


def _containers(
    framework: Framework[Any], job: Job[Any]
) -> Iterator[tuple[str, Mapping[str, Any], Container]]:
    for where, spec in _pods(framework, job):
        for field in ("initContainers", "containers"):
            for index, container in enumerate(mappings(spec.get(field))):
                yield f"{where}.{field}[{index}]", spec, container
    for companion in framework.companions:
        if beside := companion.pod(job):
            yield from ((companion.name, beside["spec"], container) for container in containers(beside))


def _pods(framework: Framework[Any], job: Job[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Of the members."""
    for role, replica in job.replicas.items():
        yield f"spec.{framework.replicas_field}.{role}.template.spec", replica.template["spec"]


def _length(written: Any) -> int | None:
    return len(written) if isinstance(written, list) else None
