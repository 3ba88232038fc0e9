"""The examples, each with a virtual environment of its own: made once from its lock file, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries, build
from tests.cluster.build import Unavailable
from tests.cluster.progress import Progress

ROOT = Path(__file__).parents[1]
_WHICH = "import sys; print('%d.%d' % sys.version_info[:2])"
_INSTALL = (
    *("-m", "pip", "install", "--no-input", "--disable-pip-version-check"),
    *("--only-binary=:all:", "--require-hashes", "--requirement"),
)


@dataclass(frozen=True)
class Example:
    """A folder of examples/, with what is known about running it here."""

    title: str
    file: str
    image: str
    tells: str
    """The pod whose log has the losses."""
    pythons: tuple[str, ...]
    """The versions that all its packages have wheels for, the best first."""
    pip: tuple[str, ...] = ()
    """What pip is told beside the usual."""
    module: str = ""
    """What is imported, if that is not called as the folder is."""

    @property
    def folder(self) -> Path:
        return (ROOT / self.file).parent


TENSORFLOW = Example(
    title="TensorFlow",
    file="examples/tensorflow/tfjob.yaml",
    image="trainop-examples/tensorflow:1",
    tells="hello-tensorflow-chief-0",
    pythons=("3.12", "3.11", "3.13"),
)
MXNET = Example(
    title="MXNet",
    file="examples/mxnet/mxjob.yaml",
    image="trainop-examples/mxnet:1",
    tells="hello-mxnet-worker-0",
    pythons=("3.11",),
)

PYTORCH = Example(
    title="PyTorch",
    file="examples/pytorch/pytorchjob.yaml",
    image="trainop-examples/pytorch:1",
    tells="hello-pytorch-master-0",
    pythons=("3.12", "3.11", "3.13"),
    module="torch",
)
XGBOOST = Example(
    title="XGBoost",
    file="examples/xgboost/xgboostjob.yaml",
    image="trainop-examples/xgboost:1",
    tells="hello-xgboost-master-0",
    pythons=("3.12", "3.11", "3.13"),
)
EXAMPLES = (TENSORFLOW, MXNET, PYTORCH, XGBOOST)


def environment(example: Example, progress: Progress) -> Path:
    """The example's virtual environment; raises Unavailable where there can be none."""
    python, version = _python(example)
    lock = example.folder / "requirements.lock"
    key = hashlib.sha256(lock.read_bytes() + str(python).encode()).hexdigest()[:12]
    home = binaries.cache() / "examples" / f"{example.folder.name}-{version}-{key}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with binaries.alone(home.parent / "lock", progress):
        if not (home / "ready").exists():
            _make(example, python, version, home, progress)
            _forget(home)
    home.touch()
    return home


def _forget(newest: Path) -> None:
    """All but the two of this example that were used last: they are large."""
    example = newest.name.partition("-")[0]
    by_age = sorted(newest.parent.glob(f"{example}-*"), key=lambda home: home.stat().st_mtime, reverse=True)
    for home in by_age[2:]:
        shutil.rmtree(home, ignore_errors=True)


def _make(example: Example, python: Path, version: str, home: Path, progress: Progress) -> None:
    name, new = example.title, home / "bin" / "python"
    module = example.module or example.folder.name
    lock = example.folder / "requirements.lock"
    steps: tuple[tuple[str, str, list[str | Path]], ...] = (
        (
            f"making a virtual environment for {name} with Python {version}",
            f"there can be no virtual environment for {name}",
            [python, "-m", "venv", "--clear", home],
        ),
        (
            f"installing {name} as its lock file says (takes minutes, once)",
            f"pip could not install {name}",
            [new, *_INSTALL, lock, *example.pip],
        ),
        (f"importing {name}", f"{name} is installed but cannot be used", [new, "-c", f"import {module}"]),
    )
    with tempfile.TemporaryDirectory() as scratch:
        for step, failure, argv in steps:
            progress.step(step)
            try:
                build.run(argv, failure, Path(scratch), progress)
            except build.Failure as failed:
                raise Unavailable(f"{failed.sentence}.{failed.details}") from failed
    (home / "ready").touch()


def _python(example: Example) -> tuple[Path, str]:
    """The interpreter to use: the one that runs this if it will do, or one on PATH."""
    own = "{}.{}".format(*sys.version_info[:2])
    if own in example.pythons:
        return Path(sys.base_prefix) / "bin" / f"python{own}", own
    for version in example.pythons:
        for found in _installed(version):
            if _version(found) == version:
                return Path(found), version
    wanted = " or ".join(sorted(example.pythons))
    raise Unavailable(
        f"{example.title} has wheels for Python {wanted} only, and there is none on PATH: "
        f"install one (apt, dnf, brew and pyenv have it) and try again."
    )


def _installed(version: str) -> Iterator[str]:
    """On PATH, or among those of pyenv: of one that is not switched on, it puts a stub on PATH."""
    if found := shutil.which(f"python{version}"):
        yield found
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(root.glob(f"versions/{version}.*/bin/python{version}")))


def _version(python: str) -> str:
    """Asked, because what a version manager puts on PATH may be a stub."""
    told = subprocess.run([python, "-c", _WHICH], capture_output=True, text=True, check=False)  # noqa: S603 - found on PATH
    return told.stdout.strip()
