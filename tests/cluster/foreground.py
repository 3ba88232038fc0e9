"""What people have running in a terminal until they have enough of it."""

import contextlib
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

import click

from tests.cluster.controlplane import Cluster

_LOOK = 0.5  # seconds between two looks whether all processes still run
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def listen() -> None:
    """From now on every wish that we end is a KeyboardInterrupt."""
    for number in _SIGNALS:
        signal.signal(number, _interrupt)


@contextlib.contextmanager
def until_interrupted(stop: Callable[[], None]) -> Iterator[None]:
    """Being interrupted is no error; nothing disturbs `stop`."""
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        stop()
    click.echo("stopped; nothing is left behind")


def offer(what: str, cluster: Cluster, example: str, check: Callable[[], None]) -> NoReturn:
    """Tell how to use a cluster, and stay while all is well."""
    click.echo(f"{what} runs until Ctrl-C. In another terminal:\n")
    click.echo(f"  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
    click.echo(f"  export PATH={shlex.quote(str(cluster.kubectl.parent))}:$PATH")
    click.echo(f"  {example}\n")
    sys.stdout.flush()
    while True:
        check()
        time.sleep(_LOOK)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
