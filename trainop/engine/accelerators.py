"""What a container gets that asks for an accelerator: paths of the node, variables, and a name that nodes know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainop import template
from trainop.model import Accelerator, HostVolume, Settings

OLD_GPU, GPU = "alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu"
"""What old jobs ask for, and what has taken its place: no node offers the old one any more."""


def fitted(settings: Settings, trainer: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod spec whose container `trainer` has what it needs for the resources it asks for. What the user wrote
    stays; accelerators are looked up under the name that the user wrote, before that is changed."""
    made = dict(spec)
    asked = _asked(template.container({"spec": spec}, trainer))
    for accelerator in settings.accelerators:
        if accelerator.resource in asked:
            made = _equipped(made, trainer, accelerator)
    for field in ("initContainers", "containers"):
        if containers := template.mappings(made.get(field)):
            made[field] = [_asking(settings, container) for container in containers]
    return made


def named(resources: Mapping[str, Any], *, rename_gpu: bool) -> dict[str, Any]:
    """Amounts by the names that nodes know."""
    if not rename_gpu or OLD_GPU not in resources:
        return dict(resources)
    others = {name: amount for name, amount in resources.items() if name != OLD_GPU}
    return {GPU: resources[OLD_GPU]} | others


def _asked(container: Mapping[str, Any]) -> set[str]:
    """Names of resources; the amounts do not matter, and never did."""
    return {name for field in ("limits", "requests") for name in template.resources(container, field) or ()}


def _equipped(spec: Mapping[str, Any], trainer: str, accelerator: Accelerator) -> dict[str, Any]:
    volumes, mounts = template.mappings(spec.get("volumes")), []
    for volume in accelerator.volumes:
        name = _mounted_as(volume, volumes)
        mounts.append({"name": name, "mountPath": volume.mount_path})
        if not any(known.get("name") == name for known in volumes):
            volumes.append({"name": name, "hostPath": {"path": volume.host_path}})
    env = [{"name": name, "value": value} for name, value in accelerator.env]
    containers = [
        _with(container, mounts, env) if container.get("name") == trainer else container
        for container in template.mappings(spec["containers"])
    ]
    return {**spec, "containers": containers} | ({"volumes": volumes} if volumes else {})


def _mounted_as(volume: HostVolume, volumes: list[Mapping[str, Any]]) -> str:
    """The name of the pod's volume for it: one that is there, or a new one that is not another volume's."""
    for known in volumes:
        if template.mapping(known.get("hostPath")).get("path") == volume.host_path:
            return str(known.get("name"))
    taken = any(known.get("name") == volume.name for known in volumes)
    return f"accelerator-{volume.name}" if taken else volume.name


def _with(
    container: Mapping[str, Any], mounts: list[dict[str, str]], env: list[dict[str, str]]
) -> dict[str, Any]:
    """Whatever the user has put at a path, or called by a name, is not put there twice."""
    made = dict(container)
    for field, key, added in (("volumeMounts", "mountPath", mounts), ("env", "name", env)):
        written = template.mappings(container.get(field))
        used = [entry.get(key) for entry in written]
        if new := [entry for entry in added if entry[key] not in used]:
            made[field] = written + new
    return made


def _asking(settings: Settings, container: Mapping[str, Any]) -> Mapping[str, Any]:
    """By today's names, and with limits: the API server takes no extended resource that has only a request."""
    if not _asked(container):
        return container
    limits, requests = (
        named(template.resources(container, field) or {}, rename_gpu=settings.rename_gpu)
        for field in ("limits", "requests")
    )
    limits = {name: amount for name, amount in requests.items() if _extended(name)} | limits
    given = {"limits": limits, "requests": requests}
    resources = container["resources"] | {field: amounts for field, amounts in given.items() if amounts}
    return {**container, "resources": resources}


def _extended(name: str) -> bool:
    return name == OLD_GPU or ("/" in name and "kubernetes.io/" not in name)
