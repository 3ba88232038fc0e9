"""What a wheel of trainop holds: everything it needs, the frameworks under its own name, and nothing beside it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.outside.fresh import checkout

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because a build writes into its sources."""
    copy, out = checkout(tmp_path_factory.mktemp("sources")), tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(out), str(copy)], check=True)  # noqa: S603 - our own pip
    return next(out.glob("trainop-*.whl"))


@pytest.mark.thorough
def test_a_wheel_brings_the_frameworks_under_our_own_name(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        archive.extractall(tmp_path)
    assert {top for top in tops if not top.endswith(".dist-info")} == {"trainop"}
    found = (
        "import trainop, trainop.registry as r; print(trainop.__file__, *(g.kind for g in r.frameworks()))"
    )
    # The folder of the wheel goes before the checkout that this environment has installed.
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {found}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    path, *kinds = done.stdout.split()
    assert Path(path).is_relative_to(tmp_path)
    assert set(kinds) == {"MXJob", "MxJob", "PyTorchJob", "TFJob", "TfJob", "XGBoostJob"}


@pytest.mark.thorough
def test_a_wheel_holds_every_module_of_the_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".py")}
    ours = {str(path.relative_to(ROOT)) for path in (ROOT / "trainop").rglob("*.py")}
    ours |= {f"trainop/{path.relative_to(ROOT)}" for path in (ROOT / "frameworks").rglob("*.py")}
    assert packed == ours
