"""What of a job cannot work on this machine: mistakes that end the run before it begins, and things to know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.local.options import Options
from trainop.local.recipe import from_pod, sourced
from trainop.local.volumes import mounted
from trainop.model import Job

_NOBODY: Raw = {"metadata": {"name": "", "namespace": "", "uid": ""}, "spec": {}}


def mistakes(framework: Framework[Any], job: Job[Any], options: Options) -> list[str]:
    """What a person has to change first, a sentence each."""
    found = []
    for where, _, container in _containers(framework, job):
        if not container.get("command"):
            found.append(f"{where} has no command: images are not pulled here, so add the command to run")
        folder = container.get("workingDir")
        if folder and not Path(options.mounts.translate(folder)).is_dir():
            found.append(f"{where} works in {folder}, which is not here: pass --mount {folder}=FOLDER")
    return list(dict.fromkeys(found))


def remarks(framework: Framework[Any], job: Job[Any], options: Options) -> list[str]:
    """What is different here, a sentence each, with what to pass."""
    everyone = list(_containers(framework, job))
    return [
        *_images(everyone, options),
        *_resources(everyone),
        *_volumes(everyone, options),
        *_values(everyone, options),
    ]


Found = list[tuple[str, Raw, Raw]]


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
        resources = container.get("resources") or {}
        for kind in ("limits", "requests"):
            names.update(dict.fromkeys(resources.get(kind) or ()))
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


def _containers(framework: Framework[Any], job: Job[Any]) -> Iterator[tuple[str, Raw, Raw]]:
    """Where it stands, the spec of its pod, and the container itself."""
    for role, replica in job.replicas.items():
        spec = replica.template["spec"]
        where = f"spec.{framework.replicas_field}.{role}.template.spec"
        for field in ("initContainers", "containers"):
            for index, container in enumerate(spec.get(field) or ()):
                yield f"{where}.{field}[{index}]", spec, container
    for companion in framework.companions:
        template = companion.pod(job)
        for container in template["spec"]["containers"] if template else ():
            yield companion.name, dict(template["spec"]) if template else {}, container
