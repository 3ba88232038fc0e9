"""A base image and the wheels to go with it, so that an image can be built with no registry within reach."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.markers import Marker

from tests.cluster import build
from tests.cluster.progress import Progress
from tests.image import workshop
from tests.image.workshop import Workshop

ROOT = Path(__file__).parents[2]
_SUITE, _PYTHON, _GLIBC = "bookworm", "3.11", 36
_DEBOOTSTRAP = """
container=$(buildah from scratch)
trap 'buildah rm "$container" > /dev/null' EXIT
root=$(buildah mount "$container")
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$2" "$root"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/tmp/*
buildah commit --quiet "$container" "$1"
"""
_CONDITION = re.compile(r" ; (.+) \\$", re.MULTILINE)
_DOWNLOAD = (
    "-m",
    "pip",
    "download",
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary=:all:",
)


def fingerprint() -> str:
    """Changes with the recipe and with the kind of machine."""
    recipe = f"{_DEBOOTSTRAP} {_SUITE} {_PYTHON} {_GLIBC} {platform.machine()}"
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


def image(shop: Workshop, progress: Progress) -> str:
    """The name of the base in the store, made there the first time: a small Debian with its Python."""
    name = f"localhost/trainop-base:{fingerprint()}"
    if not shop.ask('buildah images --quiet --filter "reference=$1"', name):
        progress.step(f"making a base image of Debian {_SUITE} (takes a minute or two, once)")
        failure = "debootstrap could not make a base image"
        shop.work(_DEBOOTSTRAP, name, _SUITE, failure=failure, progress=progress)
    return name


def wheels(locks: Sequence[Path], progress: Progress) -> Path:
    """A folder with every wheel that the base's Python needs of the lock files, as pip finds them from here."""
    locked = [lock.read_bytes() for lock in locks]
    home = workshop.cache() / f"wheels-{fingerprint()}-{hashlib.sha256(b''.join(locked)).hexdigest()[:12]}"
    if home.exists():
        return home
    progress.step("fetching the wheels that the lock files name")
    machine = platform.machine()
    kinds = ["2014", *(f"_2_{minor}" for minor in range(_GLIBC, 4, -1))]
    platforms = [f"--platform=manylinux{kind}_{machine}" for kind in kinds]
    with workshop.workplace() as scratch:
        into, wanted = scratch / "wheels", scratch / "wanted"
        wanted.write_text("\n".join(for_the_base(text.decode()) for text in locked))
        argv = [sys.executable, *_DOWNLOAD, f"--python-version={_PYTHON}", *platforms, f"--dest={into}"]
        argv += ["--require-hashes", "-r", str(wanted)]
        build.run(argv, "pip could not fetch the wheels", scratch, progress)
        os.replace(into, home)
    return home


def for_the_base(lock: str) -> str:
    """What it has for the base's Python, with no condition left: pip would ask the Python that it runs with."""
    version = {"python_version": _PYTHON, "python_full_version": f"{_PYTHON}.0"}

    def fits(condition: re.Match[str] | None) -> bool:
        return condition is None or Marker(condition[1]).evaluate(version)

    entries = re.split(r"\n(?=\S)", lock)
    kept = [entry for entry in entries if fits(_CONDITION.search(entry))]
    return "\n".join(_CONDITION.sub(r" \\", entry) for entry in kept)
