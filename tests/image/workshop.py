"""Runs the programs that build images, fetched where they are missing, without installing anything.

Each script runs in a mount and a process namespace of its own. What it mounts or starts ends with it, and the
packages it needs are laid over /usr there: the machine never sees them.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries, build
from tests.cluster.build import Unavailable
from tests.cluster.progress import Progress

_PROGRAMS = ("buildah", "debootstrap")
_PACKAGES = (*_PROGRAMS, "debian-archive-keyring")
_WAY_OUT = "or leave these tests out with --ignore=tests/image"
_APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_WITH_PACKAGES = 'mount -t overlay overlay -o "lowerdir=$PACKAGES/usr:/usr" /usr\n'
_DOWNLOAD = (
    *("apt-get", "install", "--yes", "--quiet", "--download-only", "--no-install-recommends"),
    *("-o", "Debug::NoLocking=true"),  # nothing is installed, so nobody has to wait for it
)


@dataclass(frozen=True)
class Workshop:
    """Where images are built; they stay in its store."""

    packages: Path | None
    """Unpacked; None where the machine has all the programs."""
    store: Path

    def argv(self, script: str, *words: str | Path) -> list[str]:
        """The command that runs a shell script, with the words as its $1, $2…"""
        prepare = _WITH_PACKAGES if self.packages else ""
        return [*_APART, "sh", "-ec", prepare + script, "sh", *(str(word) for word in words)]

    def environment(self, scratch: Path) -> dict[str, str]:
        """In which buildah uses our store and no setting of the machine's."""
        settings = scratch / ".config" / "containers"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        driver = os.environ.get("STORAGE_DRIVER", "overlay")
        places = {"driver": driver, "graphroot": str(self.store), "runroot": str(scratch / "run")}
        lines = (f"{key} = {json.dumps(value)}\n" for key, value in places.items())
        (settings / "storage.conf").write_text("[storage]\n" + "".join(lines))
        return {
            **os.environ,
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "PACKAGES": str(self.packages),
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_STORAGE_CONF": str(settings / "storage.conf"),
        }

    def work(self, script: str, *words: str | Path, failure: str, progress: Progress) -> None:
        """Run a script that takes long; raises Unavailable where it fails."""
        with workplace() as scratch:
            env = self.environment(scratch)
            build.run(self.argv(script, *words), failure, scratch, progress, env=env)

    def ask(self, script: str, *words: str | Path) -> str:
        """What a script prints that takes a moment."""
        with workplace() as scratch:
            done = subprocess.run(  # noqa: S603 - a script of ours
                self.argv(script, *words),
                env=self.environment(scratch), capture_output=True, text=True, check=False,
            )  # fmt: skip
        if done.returncode != 0:
            raise Unavailable(f"buildah cannot be asked, {_WAY_OUT}.\n{done.stderr}")
        return done.stdout.strip()


def cache() -> Path:
    """Our part of the project's cache."""
    return binaries.cache() / "image"


def find(progress: Progress) -> Workshop:
    """Fetches the programs that are missing; raises Unavailable where images cannot be built."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unavailable(
            f"only root on Linux can build an image without a container engine: be it, {_WAY_OUT}."
        )
    missing = [name for name in _PROGRAMS if not shutil.which(name)]
    if missing and not shutil.which("apt-get"):
        raise Unavailable(f"there is no {' and no '.join(missing)}: install them, {_WAY_OUT}.")
    cache().mkdir(parents=True, exist_ok=True)
    return Workshop(packages("packages", _PACKAGES, progress) if missing else None, cache() / "store")


def packages(kind: str, names: Sequence[str], progress: Progress, *, way_out: str = _WAY_OUT) -> Path:
    """A folder with packages of the machine's own system and all that they need beside what is installed."""
    system = platform.freedesktop_os_release()
    home = cache() / f"{kind}-{system['ID']}-{system.get('VERSION_ID', 'rolling')}"
    if home.exists():
        return home
    cache().mkdir(parents=True, exist_ok=True)
    progress.step(f"fetching {', '.join(names)} with apt-get; nothing is installed")
    with workplace(way_out) as scratch:
        (scratch / "archives" / "partial").mkdir(parents=True)
        archives = ("-o", f"Dir::Cache::archives={scratch / 'archives'}")
        build.run([*_DOWNLOAD, *archives, *names], "apt-get could not fetch them", scratch, progress)
        unpack = 'mkdir -p "$2/usr"; for package in "$1"/*.deb; do dpkg-deb --extract "$package" "$2"; done'
        argv = ["sh", "-ec", unpack, "sh", str(scratch / "archives"), str(scratch / "packages")]
        build.run(argv, "dpkg-deb could not unpack them", scratch, progress)
        os.replace(scratch / "packages", home)
    return home


@contextlib.contextmanager
def workplace(way_out: str = _WAY_OUT) -> Iterator[Path]:
    """A folder for a while, in the cache; what fails there raises Unavailable."""
    with tempfile.TemporaryDirectory(prefix=".working-", dir=cache(), ignore_cleanup_errors=True) as folder:
        try:
            yield Path(folder)
        except build.Failure as failed:
            raise Unavailable(f"{failed.sentence}, {way_out}.{failed.details}") from failed
