"""The wheels that fresh environments are made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.progress import Progress
from tests.outside import fresh


@pytest.fixture(scope="session")
def wheels(fetched: Callable[[Callable[[Progress], Path]], Path]) -> Path:
    return fetched(fresh.wheels)
