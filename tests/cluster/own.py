"""What a test needs beside the shared cluster, or a loud skip that says what is missing; in CI that is a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster import binaries, progress
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster, ControlPlane


@contextmanager
def or_skip() -> Iterator[None]:
    try:
        yield
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))


@contextmanager
def control_plane(**options: Any) -> Iterator[Cluster]:
    """One that no other test uses; the options are those of ControlPlane."""
    if os.environ.get("TRAINOP_TEST_KUBECONFIG"):
        pytest.skip("TRAINOP_TEST_KUBECONFIG names a cluster that other tests use; this one wants its own")
    with or_skip(), ControlPlane(binaries.find(progress.on_stderr()), **options) as own:
        yield own
