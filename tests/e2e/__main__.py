"""The command line: `python -m tests.e2e` runs the suite, `python -m tests.e2e up` gives people a node."""

import sys
import time
from pathlib import Path

import click
import pytest

from tests.chart import programs as tools
from tests.cluster import foreground, progress, shared
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Refused
from tests.e2e import FOREIGN, images, programs
from tests.e2e.machine import Broken
from tests.e2e.node import Node


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def main(context: click.Context) -> None:
    """The whole product on one real node, without a container engine: runs the suite and removes everything.

    \b
    Examples:
      python -m tests.e2e
      PYTEST_ADDOPTS="-k helm" python -m tests.e2e
      TRAINOP_E2E_KUBECONFIG=~/.kube/config python -m tests.e2e
      python -m tests.e2e up
    """
    foreground.listen()
    if context.invoked_subcommand is None:
        sys.exit(_suite())


@main.command()
def up() -> None:
    """Start a node and run until Ctrl-C; several can run side by side.

    \b
    Examples:
      python -m tests.e2e up
      export KUBECONFIG=...            in another terminal, as it prints
      kubectl get pods -A
    """
    node = Node(progress.on_stderr())
    with foreground.until_interrupted(node.stop):
        foreground.offer("The node", node.start().cluster, "kubectl get pods -A", node.check)


def _suite() -> int:
    """Have everything built first, so that what cannot be had is told at once."""
    began = time.monotonic()
    if not shared.named_by_user(FOREIGN, progress.on_stderr):
        programs.find(progress.on_stderr())
        images.archives(progress.on_stderr())
    tools.helm(progress.on_stderr())
    ready = time.monotonic()
    code = pytest.main([str(Path(__file__).parent), "--verbose", "--durations=0", "--durations-min=1"])
    ended = time.monotonic()
    click.echo(f"programs and images {ready - began:.0f} s, node and suite {ended - ready:.0f} s")
    return int(code)


if __name__ == "__main__":
    try:
        main(prog_name="python -m tests.e2e")
    except (Broken, Refused, TimeoutError, Unavailable) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
