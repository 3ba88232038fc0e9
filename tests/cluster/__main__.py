"""The command line: `python -m tests.cluster fetch|up|down`."""

import shlex
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

import click

from tests.cluster import binaries, progress, records
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import ControlPlane, Refused
from tests.cluster.shared import CRDS
from tests.cluster.versions import kubernetes

_LOOK = 0.5  # seconds between two looks whether all processes still run


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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    found = binaries.find(progress.on_stderr())
    plane = ControlPlane(found, crds=CRDS)
    with records.running():
        try:
            cluster = plane.start()
            click.echo(f"Kubernetes {kubernetes().version} runs until Ctrl-C. In another terminal:\n")
            click.echo(f"  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
            click.echo(f"  export PATH={shlex.quote(str(cluster.kubectl.parent))}:$PATH")
            click.echo("  kubectl get namespaces\n")
            sys.stdout.flush()
            while True:
                plane.check()
                time.sleep(_LOOK)
        except KeyboardInterrupt:
            pass
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            plane.stop()
    click.echo("stopped; nothing is left behind")


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


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        main(prog_name="python -m tests.cluster")
    except (Unavailable, Refused, TimeoutError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
