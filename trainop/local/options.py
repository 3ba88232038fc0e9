"""What a user says about a run beside the job: folders, interpreters, variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainop.local.mounts import Mounts

EVERY_IMAGE = ""


@dataclass(frozen=True)
class Options:
    mounts: Mounts = field(default_factory=lambda: Mounts({}))
    pythons: Mapping[str, Path] = field(default_factory=dict)
    """Interpreters by image; EVERY_IMAGE: where the image has none of its own."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Set in every container, whatever the job says."""

    def python(self, image: str) -> Path | None:
        return self.pythons.get(image) or self.pythons.get(EVERY_IMAGE)
