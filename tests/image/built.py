"""Images as Dockerfiles of ours make them, each built anew whenever something in it has changed."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.cluster import binaries
from tests.cluster.progress import Progress
from tests.image import base, workshop
from tests.image.base import ROOT
from tests.image.workshop import Workshop
from trainop import __version__

REVISION = "0123abcd"
"""What the build is told about where the sources came from."""
_KEPT = 3  # images in the cache: those of other checkouts and branches are not thrown away at once
_BUILD = """
name=$1 container=$2 base=$3 wheels=$4 revision=$5 context=$6 archive=$7 reference=$8
buildah build --layers --timestamp 0 --build-context "wheels=$wheels" --build-arg PIP_NO_INDEX=1 \\
    --build-arg "BASE_IMAGE=$base" --build-arg "REVISION=$revision" --tag "$name" "$context"
buildah push --quiet "$name" "docker-archive:$archive:$reference"
buildah rm "$container" > /dev/null 2>&1 || true
buildah from --name "$container" "$name"
"""
_FORGET = """
buildah rm "$2" > /dev/null || true
buildah rmi "$1" > /dev/null || true
# What is left of builds long ago; the next one takes longer.
[ "$(buildah images --all --quiet --filter dangling=true | wc -l)" -lt 300 ] || buildah rmi --prune --force
"""


@dataclass(frozen=True)
class Recipe:
    """A folder with a Dockerfile, and a .dockerignore that names all that a builder gets to see."""

    title: str
    folder: Path
    locks: tuple[Path, ...]
    """What is installed in it."""
    name: str
    """In the store, where a version follows."""
    reference: str
    """Its full name for whoever imports the archive: a node takes a short one for one of docker.io."""

    @property
    def homes(self) -> Path:
        """Where the archives are kept, each in a folder named by its version."""
        return workshop.cache() / self.name.replace("trainop", "built", 1)

    def names(self, version: str) -> tuple[str, str]:
        """Of the image in the store and of the container made of it."""
        return f"localhost/{self.name}:{version}", f"{self.name}-{version}"


OPERATOR = Recipe(
    title="this checkout",
    folder=ROOT,
    locks=(ROOT / "requirements.lock", ROOT / "requirements-build.lock"),
    name="trainop",
    reference=f"docker.io/library/trainop:{__version__}",
)


@dataclass(frozen=True)
class Image:
    """One image, in a store to be started and in an archive to be looked into."""

    shop: Workshop
    container: str
    """To be mounted with `buildah mount`; nobody writes to it."""
    archive: Path
    """As `docker load` and `ctr images import` take it."""

    @property
    def name(self) -> str:
        """In the store."""
        name, _, version = self.container.rpartition("-")
        return f"localhost/{name}:{version}"

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """As the OCI image specification has it."""
        with tarfile.open(self.archive) as archive:
            told: dict[str, Any] = json.load(_member(archive, _manifest(archive)["Config"]))
        return told

    @functools.cached_property
    def layers(self) -> list[dict[str, tarfile.TarInfo]]:
        """What each layer adds, the base's first."""
        return [{f"/{entry.name}": entry for entry in layer} for layer in self._layers()]

    def read(self, path: str) -> bytes:
        """A file that one of the layers holds."""
        for layer in self._layers():
            if path.removeprefix("/") in layer.getnames():
                return _member(layer, path.removeprefix("/")).read()
        raise FileNotFoundError(path)

    def _layers(self) -> Iterator[tarfile.TarFile]:
        with tarfile.open(self.archive) as archive:
            for name in _manifest(archive)["Layers"]:
                with tarfile.open(fileobj=_member(archive, name)) as layer:
                    yield layer


def build(progress: Progress, recipe: Recipe = OPERATOR) -> Image:
    """The image as its sources are now; raises Unavailable where it cannot be built."""
    shop = workshop.find(progress)
    with workshop.workplace() as scratch:
        context = _context(recipe.folder, scratch / "context")
        version = _fingerprint(recipe, context)
        name, container = recipe.names(version)
        home = recipe.homes / version
        image = Image(shop, container, home / "image.tar")
        with binaries.alone(workshop.cache() / "lock", progress):
            if not image.archive.exists():
                _build(recipe, image, context, name, progress)
                _forget(shop, recipe)
        home.touch()
    return image


def _build(recipe: Recipe, image: Image, context: Path, name: str, progress: Progress) -> None:
    parent, wheels = base.image(image.shop, progress), base.wheels(recipe.locks, progress)
    progress.step(f"building the image of {recipe.title} (takes a minute or two, then it is cached)")
    image.archive.parent.mkdir(parents=True, exist_ok=True)
    part = image.archive.with_suffix(".part")
    part.unlink(missing_ok=True)
    words = (name, image.container, parent, wheels, REVISION, context, part, recipe.reference)
    image.shop.work(_BUILD, *words, failure="buildah could not build the image", progress=progress)
    part.rename(image.archive)


def _forget(shop: Workshop, recipe: Recipe) -> None:
    """Remove all but the images that were used last."""
    by_age = sorted(recipe.homes.iterdir(), key=lambda home: home.stat().st_mtime, reverse=True)
    for home in by_age[_KEPT:]:
        shop.ask(_FORGET, *recipe.names(home.name))
        shutil.rmtree(home, ignore_errors=True)


def _context(folder: Path, copy: Path) -> Path:
    """What a builder gets to see, as it is now: .dockerignore names it, and someone may be editing."""
    ignored = (folder / ".dockerignore").read_text().splitlines()
    wanted = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    for name in ["Dockerfile", ".dockerignore", *wanted]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (folder / name).is_dir():
            shutil.copytree(folder / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(folder / name, copy / name)
    return copy


def _fingerprint(recipe: Recipe, context: Path) -> str:
    known = hashlib.sha256(f"{base.fingerprint()}{_BUILD}{recipe.reference}".encode())
    for path in sorted(path for path in context.rglob("*") if path.is_file()):
        known.update(f"{path.relative_to(context)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return known.hexdigest()[:12]


def _manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    manifest: dict[str, Any] = json.load(_member(archive, "manifest.json"))[0]
    return manifest


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(name)
    assert found, f"{name} is a file"
    return found
