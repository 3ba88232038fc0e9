"""The command line: `python -m tests.cluster fetch|up|down`."""

import sys

import click

from tests.cluster import binaries, foreground, progress, records
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import ControlPlane, Refused
from tests.cluster.shared import CRDS
from tests.cluster.versions import kubernetes


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """A real Kubernetes control plane on this machine, without containers.

    \b
    Examples:
      python -m tests.cluster fetch    get the binaries now, not at the first use
      python -m tests.cluster up       start one; Ctrl-C ends it
      python -m tests.cluster down     end them all from another terminal
    """


@main.command()
def fetch() -> None:
    """Make sure that the binaries are there; builds them once, which takes minutes.

    \b
    Examples:
      python -m tests.cluster fetch
      K8S_VERSION=1.30 python -m tests.cluster fetch
      KUBEBUILDER_ASSETS=~/envtest/bin python -m tests.cluster fetch
      XDG_CACHE_HOME=/var/tmp python -m tests.cluster fetch
    """
    found = binaries.find(progress.on_stderr())
    click.echo(f"Kubernetes {kubernetes().version} is ready in {found.kube_apiserver.parent}")


@main.command()
def up() -> None:
    """Start a control plane with the CRDs of crds/ and run until Ctrl-C; several can run side by side.

    \b
    Examples:
      python -m tests.cluster up
      export KUBECONFIG=...            in another terminal, as it prints
      kubectl get namespaces
    """
    foreground.listen()
    plane = ControlPlane(binaries.find(progress.on_stderr()), crds=CRDS)
    with records.running(), foreground.until_interrupted(plane.stop):
        what = f"Kubernetes {kubernetes().version}"
        foreground.offer(what, plane.start(), "kubectl get namespaces", plane.check)


@main.command()
def down() -> None:
    """End every control plane of yours that `up` started, and wait until it is gone.

    \b
    Examples:
      python -m tests.cluster down
    """
    ended = records.end_all()
    for pid in ended:
        click.echo(f"ended the control plane of process {pid}")
    if not ended:
        click.echo("no control plane is running")


if __name__ == "__main__":
    try:
        main(prog_name="python -m tests.cluster")
    except (Unavailable, Refused, TimeoutError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
