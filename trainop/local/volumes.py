"""Which folders of this machine stand for a pod's volumes: an emptyDir gets one, all others need --mount."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainop.kube.port import Raw
from trainop.local.folder import Folder


def places(pod: Raw, container: Raw, folder: Folder) -> dict[str, Path]:
    """By the path inside the container."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    found = {}
    for path, volume, mount in mounted(pod["spec"], container):
        if "emptyDir" in volume:
            place = folder.volume(name, uid, volume["name"]) / str(mount.get("subPath") or "")
            place.mkdir(parents=True, exist_ok=True)
            found[path] = place
    return found


def mounted(spec: Raw, container: Raw) -> Iterator[tuple[str, Raw, Raw]]:
    """Path, volume and mount of all that a container sees."""
    by_name = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        if mount.get("name") in by_name and mount.get("mountPath"):
            yield mount["mountPath"], by_name[mount["name"]], mount
