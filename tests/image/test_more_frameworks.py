"""The Dockerfile of docs/image.md makes an image with a framework beside ours."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.image.base import ROOT
from tests.image.built import Image

pytestmark = pytest.mark.image

TEXT = (ROOT / "docs" / "image.md").read_text().partition("## With more frameworks")[2]
_BUILD = """
buildah build --layers=false --tag "$2" "$1"
buildah rmi "$2" > /dev/null
"""


def test_three_lines_make_an_image_with_the_framework_in_it(image: Image, tmp_path: Path) -> None:
    package = Path("examples", "frameworks", "ensemble")
    shutil.copytree(ROOT / package, tmp_path / package)
    (pip,) = re.findall(r"^pip (install .*)$", TEXT, re.MULTILINE)
    argv = [sys.executable, "-m", "pip", *shlex.split(pip), "--quiet", "--no-build-isolation"]
    subprocess.run(argv, cwd=tmp_path, check=True)  # noqa: S603 - what the page says
    (dockerfile,) = re.findall(r"```dockerfile\n(.*?)```", TEXT, re.DOTALL)
    assert len(dockerfile.splitlines()) == 3
    ours, count = re.subn(r"REGISTRY/trainop:\S+", image.name, dockerfile)
    assert count == 1
    (tmp_path / "Dockerfile").write_text(ours)
    told = image.shop.ask(_BUILD, tmp_path, f"localhost/trainop-ensemble:{tmp_path.name}")
    assert '"kind": "EnsembleJob"' in told  # the last line has printed its CRD
