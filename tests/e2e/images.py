"""The images that jobs and the chart name in the tests, as archives that a node imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.cluster.progress import Progress
from tests.image import built


def archives(progress: Progress) -> Mapping[str, Path]:
    """Each image's archive by its full name, built if need be; raises Unavailable where they cannot be built."""
    return {"localhost/trainop": built.build(progress).archive}
