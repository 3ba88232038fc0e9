"""`make manifests`: the chart's copies of the CRDs, and the chart rendered into deploy/manifests for kubectl."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import click

from tests.chart import programs
from tests.chart.helm import CHART, Helm
from tests.cluster import progress
from tests.cluster.build import Unavailable
from trainop import __version__

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "manifests"
NAMESPACE = "trainop-system"
_MADE = "# Made from charts/trainop by `make manifests`: change that, not this file."
_KEEP = "  annotations:\n    helm.sh/resource-policy: keep\n"
# Who reads these has not used helm.
_OF_HELM = re.compile(
    r"^(# Source: .*| +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*)\n", re.MULTILINE
)

_NAMESPACE = f"""\
{_MADE}
# All of trainop for `kubectl apply -f`, with the chart's defaults.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""
_KUSTOMIZATION = f"""\
{_MADE}
# `kubectl apply -k deploy/manifests`, or a base for your own: kustomize edit set image trainop=REGISTRY/trainop:TAG
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - trainop.yaml
images:
  - name: trainop
    newTag: {__version__}
"""


def files(helm: Helm) -> dict[Path, str]:
    """What each of them has to hold."""
    crds = {path.name: path.read_text() for path in sorted((ROOT / "crds").glob("*.yaml"))}
    rendered = helm.text("--no-hooks", "--set", "crds.install=false", namespace=NAMESPACE)
    parts = [_NAMESPACE, *crds.values(), _OF_HELM.sub("", rendered).removeprefix("---\n")]
    copies = {CHART / "files" / "crds" / name: _kept(text) for name, text in crds.items()}
    return copies | {
        FOLDER / "trainop.yaml": "---\n".join(parts),
        FOLDER / "kustomization.yaml": _KUSTOMIZATION,
    }


def _kept(crd: str) -> str:
    """Helm leaves it where it is when the release goes."""
    return crd.replace("\nmetadata:\n", f"\nmetadata:\n{_KEEP}", 1)


@click.command()
def main() -> None:
    """Write the files anew that a test compares."""
    try:
        program = programs.helm(progress.on_stderr())
    except Unavailable as reason:
        sys.exit(str(reason))
    with tempfile.TemporaryDirectory() as home:
        for path, text in files(Helm(program, Path(home))).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            click.echo(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
