"""The image of this checkout, built if need be."""

from __future__ import annotations

import pytest

from tests.cluster import own, progress
from tests.image import built
from tests.image.built import Image


@pytest.fixture(scope="session")
def image(pytestconfig: pytest.Config) -> Image:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a build wants to see it
        return built.build(progress.on_stderr())
