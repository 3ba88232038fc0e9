"""Starts a container of an image the way Kubernetes is asked to: nothing can be written, and nobody is root.

This file run as a script is what goes on inside, in namespaces of its own, until the program takes over. It has
the network of the machine, so that a control plane on a loopback address can be reached.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cluster.leash import Process
    from tests.image.built import Image

_PR_SET_NO_NEW_PRIVS = 38
_START = 'root=$(buildah mount "$3"); exec "$1" -I -S "$2" "$root" "$4" "$5"'
_DEVICES = {"null": (1, 3), "urandom": (1, 9)}


def start(
    image: Image,
    folder: Path,
    *words: str,
    entrypoint: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    mounts: Mapping[str, Path] | None = None,
) -> Process:
    """Its output is in `folder`, where `mounts` says which folders are to be seen at which path."""
    from tests.cluster.leash import Process

    config = image.config["config"]
    spec = {
        "args": [*(entrypoint or config["Entrypoint"]), *(words or config["Cmd"])],
        "env": dict(line.split("=", 1) for line in config["Env"]) | {**(env or {})},
        "user": [int(part) for part in config["User"].split(":")],
        "mounts": {path: str(source) for path, source in (mounts or {}).items()},
    }
    scratch = folder / "container"
    scratch.mkdir(exist_ok=True)
    argv = image.shop.argv(_START, sys.executable, __file__, image.container, scratch, json.dumps(spec))
    return Process(argv, log=folder / "log", env=image.shop.environment(folder))


def terminate(process: Process) -> None:
    """As the kubelet does it: SIGTERM to the program. What we started only waits for it, and hears no signals."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGTERM)


def _enter(image: Path, scratch: Path, spec: Mapping[str, Any]) -> None:
    """Become the program: process 1, in a root that is read-only."""
    _mount("-t", "tmpfs", "tmpfs", scratch)
    for name in ("root", "upper", "work"):
        (scratch / name).mkdir()
    root = scratch / "root"
    layers = f"lowerdir={image},upperdir={scratch / 'upper'},workdir={scratch / 'work'}"
    _mount("-t", "overlay", "-o", layers, "overlay", root)
    for path, source in spec["mounts"].items():
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        _mount("--bind", "-o", "ro", source, root / path.lstrip("/"))
    _mount("-t", "proc", "proc", root / "proc")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "dev")
    for name, (major, minor) in _DEVICES.items():
        os.mknod(root / "dev" / name, 0o020666, os.makedev(major, minor))
        (root / "dev" / name).chmod(0o666)
    _mount("-o", "remount,bind,ro", root / "dev")
    _mount("-o", "remount,bind,ro", root)
    os.chroot(root)
    os.chdir("/")
    user, group = spec["user"]
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)  # all capabilities go with it
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.environ["PATH"] = spec["env"]["PATH"]  # where the program is looked for
    os.execvpe(spec["args"][0], spec["args"], spec["env"])  # noqa: S606 - what the image says


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True)  # noqa: S603, S607 - the system's own


if __name__ == "__main__":
    _enter(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
