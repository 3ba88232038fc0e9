"""`trainop operator`: run the operator, in a cluster or outside of one."""

from __future__ import annotations

import asyncio
import logging
import sys

import click

from trainop.model import Settings
from trainop.operator.app import Options, serve
from trainop.operator.controller import only
from trainop.registry import frameworks


@click.command("operator")
@click.option(
    "--kubeconfig", envvar="KUBECONFIG", help="Outside a cluster: how to reach it.  [env: KUBECONFIG]"
)
@click.option("--context", help="The context of the kubeconfig; default: its current one.")
@click.option(
    "--namespace", envvar="KUBEFLOW_NAMESPACE", help="Serve this namespace only.  [env: KUBEFLOW_NAMESPACE]"
)
@click.option(
    "--enable-scheme", "kinds", multiple=True, metavar="KIND", help="Serve this kind only; repeatable."
)
@click.option(
    "--cluster-domain",
    envvar="CUSTOM_CLUSTER_DOMAIN",
    default="",
    help="Ends the DNS names that members are told: cluster.local.  [env: CUSTOM_CLUSTER_DOMAIN]",
)
@click.option(
    "--gang-scheduler-name",
    "gang_scheduler",
    default="",
    metavar="NAME",
    help="Schedule each job's pods together or not at all: 'volcano', or the name of a scheduler with the "
    "coscheduling plugin, such as 'scheduler-plugins-scheduler'.  [default: no gang scheduling]",
)
@click.option(
    "--controller-threads",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Jobs worked on at once.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    kinds: tuple[str, ...],
    cluster_domain: str,
    gang_scheduler: str,
    controller_threads: int,
    verbose: bool,
) -> None:
    """Run the operator until SIGTERM or Ctrl-C.

    \b
    Examples:
      trainop operator                              in a cluster, or with the current kubeconfig
      trainop operator --namespace team-a           only that namespace
      trainop operator --enable-scheme TFJob -v     only TFJobs, telling more
    """
    _log_to_stderr(verbose=verbose)
    installed = frameworks()
    unknown = {kind.lower() for kind in kinds} - {gvk.kind.lower() for gvk in installed}
    if unknown:
        served = ", ".join(sorted(gvk.kind for gvk in installed))
        raise click.UsageError(
            f"no installed framework serves {', '.join(sorted(unknown))}; there are: {served}"
        )
    options = Options(
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace or None,
        settings=Settings(cluster_domain=cluster_domain, gang_scheduler=gang_scheduler),
        workers=controller_threads,
    )
    _run(serve(only(installed, kinds), options))


def _run(main: object) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)  # type: ignore[arg-type]  # a coroutine
    else:
        uvloop.run(main)  # type: ignore[arg-type]  # a coroutine


def _log_to_stderr(*, verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)-7s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S%z",
    )
    # kopf tells of every event it hands on; we tell of what comes of it.
    logging.getLogger("kopf").setLevel(logging.INFO if verbose else logging.WARNING)
    logging.getLogger("aiohttp").setLevel(logging.WARNING)
