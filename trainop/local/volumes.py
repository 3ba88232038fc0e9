"""Which folders of this machine stand for a pod's volumes: an emptyDir gets one, all others need --mount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trainop.kube.port import Raw
from trainop.local.folder import Folder
from trainop.template import mappings

Written = Mapping[str, Any]


def places(pod: Raw, container: Written, folder: Folder) -> dict[str, Path]:
    """By the path inside the container."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    found = {}
    for path, volume, mount in mounted(pod["spec"], container):
        if "emptyDir" in volume:
            place = folder.volume(name, uid, str(volume["name"])) / str(mount.get("subPath") or "")
            place.mkdir(parents=True, exist_ok=True)
            found[path] = place
    return found


def mounted(spec: Written, container: Written) -> Iterator[tuple[str, Written, Written]]:
    """Path, volume and mount of all that a container sees."""
    by_name = {str(volume.get("name")): volume for volume in mappings(spec.get("volumes"))}
    for mount in mappings(container.get("volumeMounts")):
        volume = by_name.get(str(mount.get("name")))
        if volume and mount.get("mountPath"):
            yield str(mount["mountPath"]), volume, mount
