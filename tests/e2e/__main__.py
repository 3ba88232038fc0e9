"""The command line: `python -m tests.e2e`, and `python -m tests.e2e up` for people."""

import shlex
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

import click

from tests.cluster import progress
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Refused
from tests.e2e.machine import Broken
from tests.e2e.node import Node

_LOOK = 0.5  # seconds between two looks whether all programs still run
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The whole product on one real node, without a container engine."""


@main.command()
def up() -> None:
    """Start a node and run until Ctrl-C; several can run side by side.

    \b
    Examples:
      python -m tests.e2e up
      export KUBECONFIG=...            in another terminal, as it prints
      kubectl get pods -A
    """
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    node = Node(progress.on_stderr())
    try:
        cluster = node.start().cluster
        click.echo("The node runs until Ctrl-C. In another terminal:\n")
        click.echo(f"  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
        click.echo(f"  export PATH={shlex.quote(str(cluster.kubectl.parent))}:$PATH")
        click.echo("  kubectl get pods -A\n")
        sys.stdout.flush()
        while True:
            node.check()
            time.sleep(_LOOK)
    except KeyboardInterrupt:
        pass
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        node.stop()
    click.echo("stopped; nothing is left behind")


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        main(prog_name="python -m tests.e2e")
    except (Broken, Refused, TimeoutError, Unavailable) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
