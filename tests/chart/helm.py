"""Helm on the chart of this checkout, with nothing of the user's settings."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]

CHART = Path(__file__).parents[2] / "charts" / "trainop"
OLDEST = "1.30.0"
"""The oldest Kubernetes that the chart takes."""


class HelmRefused(Exception):
    """The message is helm's."""


@dataclass(frozen=True)
class Helm:
    program: Path
    home: Path
    """Takes what helm writes for itself."""
    kubeconfig: Path | None = None

    def run(self, *words: str | Path) -> str:
        """What `helm WORDS` prints."""
        homes = {f"HELM_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), **homes}
        if self.kubeconfig:
            env["KUBECONFIG"] = str(self.kubeconfig)
        done = subprocess.run(  # noqa: S603 - helm with a test's own words
            [self.program, *words], env=env, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise HelmRefused(f"{done.stdout}{done.stderr}".strip())
        return done.stdout

    def text(self, *words: str | Path, release: str = "trainop", namespace: str = "trainop-system") -> str:
        """The chart, rendered as for the oldest Kubernetes; `words` may set values and name others."""
        return self.run(
            "template", release, CHART, "--namespace", namespace, "--kube-version", OLDEST, *words
        )

    def objects(
        self, *words: str | Path, release: str = "trainop", namespace: str = "trainop-system"
    ) -> list[Raw]:
        """The same, read; without the hooks of `helm test`, and without the CRDs, which take long to read."""
        text = self.text(
            "--no-hooks", "--set", "crds.install=false", *words, release=release, namespace=namespace
        )
        return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


def one(objects: list[Raw], kind: str, name: str = "") -> Raw:
    """The only object of that kind, or the one of that name."""
    [found] = [item for item in objects if item["kind"] == kind and name in ("", item["metadata"]["name"])]
    return found
