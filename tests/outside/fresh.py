"""Fresh virtual environments, made from wheels that are fetched once: what is tried in them needs no package index."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster import binaries, build
from tests.cluster.build import Unavailable
from tests.cluster.progress import Progress

ROOT = Path(__file__).parents[2]
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-build.lock")
SOURCES = ("trainop", "frameworks", "pyproject.toml", "README.md", "LICENSE")
_DOWNLOAD = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:")


def wheels(progress: Progress) -> Path:
    """A folder with all that the lock files name, for the Python of this run."""
    locks = hashlib.sha256(b"".join(lock.read_bytes() for lock in LOCKS)).hexdigest()[:12]
    home = binaries.cache() / "wheels" / f"{sys.implementation.cache_tag}-{locks}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with binaries.alone(home.parent / "lock", progress):
        if not home.exists():
            progress.step("fetching the wheels that the lock files name")
            _fetch(home, progress)
    return home


def _fetch(home: Path, progress: Progress) -> None:
    files = [word for lock in LOCKS for word in ("-r", str(lock))]
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        into = Path(scratch) / "wheels"
        argv = [sys.executable, *_DOWNLOAD, "--require-hashes", f"--dest={into}", *files]
        try:
            build.run(argv, "pip could not fetch the wheels", Path(scratch), progress)
        except build.Failure as failed:
            raise Unavailable(f"{failed.sentence}.{failed.details}") from failed
        os.replace(into, home)


def checkout(folder: Path) -> Path:
    """What pip needs of this checkout, in a copy: a build writes into its sources."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def surroundings(wheels: Path) -> dict[str, str]:
    """Environment variables of somebody who has just logged in: nothing of the virtual environment of this run."""
    alien = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "KUBECONFIG", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in alien}
    path = f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **pip, "PATH": path}


class Environment:
    """One with trainop in it, and whatever is installed beside."""

    def __init__(self, folder: Path, wheels: Path, *packages: Path) -> None:
        self.bin, self.env = folder / "venv" / "bin", surroundings(wheels)
        self._folder = folder
        python = Path(sys.base_prefix) / "bin" / "python3"
        self.run(str(python), "-m", "venv", str(folder / "venv"))
        self.run(str(self.bin / "pip"), "install", "--quiet", str(checkout(folder / "trainop")))
        for package in packages:
            copy = shutil.copytree(package, folder / package.name)
            self.run(str(self.bin / "pip"), "install", "--quiet", str(copy))

    def trainop(self, *words: str, **env: str) -> str:
        """What it prints; it must succeed."""
        return self.run(str(self.bin / "trainop"), *words, **env)

    def run(self, *argv: str, **env: str) -> str:
        done = subprocess.run(  # noqa: S603 - words of a test
            argv, cwd=self._folder, env={**self.env, **env}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout}{done.stderr}"
        return done.stdout
