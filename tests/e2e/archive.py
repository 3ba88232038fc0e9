"""An image with one static program and nothing else, as an archive that containerd imports."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}


def write(archive: Path, image: str, program: Path) -> None:
    """The program is what a container of it runs."""
    layer = _tar({program.name: program.read_bytes()})
    machine = platform.machine()
    config = {
        "architecture": _ARCH.get(machine, machine),
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"], "User": "65532:65532"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]
    files = {"config.json": config, "manifest.json": manifest}
    texts = {name: json.dumps(value).encode() for name, value in files.items()}
    archive.write_bytes(_tar({**texts, "layer.tar": layer}))


def _tar(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
