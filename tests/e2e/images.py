"""The images that jobs and the chart name in the tests, as archives that a node imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.cluster.progress import Progress
from tests.image import built
from tests.image.built import Recipe
from tools.environments import MXNET, TENSORFLOW, Example


def archives(progress: Progress) -> Mapping[str, Path]:
    """Each image's archive by its full name, built if need be; raises Unavailable where they cannot be built."""
    recipes = (built.OPERATOR, recipe(TENSORFLOW), recipe(MXNET))
    return {each.reference: built.build(progress, each).archive for each in recipes}


def recipe(example: Example) -> Recipe:
    """Of the image that an example's job names."""
    return Recipe(
        title=f"the {example.title} example",
        folder=example.folder,
        locks=(example.folder / "requirements.lock",),
        name=f"trainop-{example.folder.name}",
        reference=f"docker.io/{example.image}",
    )
