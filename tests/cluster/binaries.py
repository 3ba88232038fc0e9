"""Finds the binaries of a control plane: in the user's folder, in the cache, or by building them."""

import contextlib
import fcntl
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import build
from tests.cluster.build import Sources, Unavailable
from tests.cluster.progress import Progress
from tests.cluster.versions import PACKAGES, kubernetes, newest

NAMES = tuple(PACKAGES)


@dataclass(frozen=True)
class Binaries:
    """Where the programs of a control plane are."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kubectl: Path


def find(progress: Progress) -> Binaries:
    """All binaries, those that are nowhere built first; raises Unavailable where that cannot be done."""
    wanted = kubernetes(), newest()
    found = _named_by_user()
    for sources in wanted:
        missing = [name for name in sources.packages if name not in found]
        if missing:
            found |= cached(sources, missing, progress)
    return Binaries(**{name.replace("-", "_"): found[name] for name in NAMES})


def cache() -> Path:
    """Our part of the user's cache directory."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trainop"


def folder(sources: Sources) -> Path:
    """The cache entry of exactly these binaries for this machine."""
    machine = platform.machine().lower()
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    system = f"{platform.system().lower()}-{arch}"
    return cache() / f"{sources.name}-{sources.version}" / system / sources.fingerprint


def _named_by_user() -> dict[str, Path]:
    """What KUBEBUILDER_ASSETS holds; it need not hold everything."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return {}
    assets = Path(named).absolute()
    if not assets.is_dir():
        raise Unavailable(f"KUBEBUILDER_ASSETS names {named}, which is not a folder: correct it or unset it.")
    return {name: assets / name for name in NAMES if os.access(assets / name, os.X_OK)}


def cached(sources: Sources, names: Sequence[str], progress: Progress) -> dict[str, Path]:
    """The binaries in the cache, built where they are missing; raises Unavailable where that cannot be done."""
    try:
        return _cached(sources, names, progress)
    except OSError as error:
        where = error.filename or cache()
        raise Unavailable(
            f"the cache cannot be filled ({where}: {error.strerror}): free the disk, "
            "or name a writable directory with XDG_CACHE_HOME."
        ) from error


def _cached(sources: Sources, names: Sequence[str], progress: Progress) -> dict[str, Path]:
    entry = folder(sources)
    if not all((entry / name).exists() for name in names):
        entry.mkdir(parents=True, exist_ok=True)
        with alone(cache() / "lock", progress):
            missing = [name for name in names if not (entry / name).exists()]
            if missing:
                build.build(sources, missing, entry, cache(), progress)
    return {name: entry / name for name in names}


@contextlib.contextmanager
def alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Keep other processes from building the same; the kernel lets go of the lock even after a SIGKILL."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step("waiting for another process that builds into the same cache")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
