"""`trainop operator`: run the operator, in a cluster or outside of one."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from typing import Any

import click

from trainop import registry
from trainop.cli.options import Accelerators, Seconds, accelerated
from trainop.errors import BrokenFramework, Usage
from trainop.framework import Framework
from trainop.model import GVK, Settings
from trainop.operator import logs, probes
from trainop.operator.app import Election, Options, serve
from trainop.operator.controller import only
from trainop.operator.lease import Terms

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
log = logging.getLogger(__name__)


class Address(click.ParamType[str]):
    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Empty: do not listen."""
        if value in ("", "0"):
            return ""
        try:
            probes.parse(value)
        except Usage as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Name(click.ParamType[str]):
    """Of an object that has to be there, or can be made."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value and not _NAME.fullmatch(value):
            self.fail(f"nothing can be called {value}: names have a-z, 0-9, dashes and dots", param, ctx)
        return str(value)


@click.command("operator")
@click.option(
    "--kubeconfig", envvar="KUBECONFIG", help="Outside a cluster: how to reach it.  [env: KUBECONFIG]"
)
@click.option("--context", help="The context of the kubeconfig; default: its current one.")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Serve this namespace only; repeatable, or several with commas.  [env: KUBEFLOW_NAMESPACE]  "
    "[default: all of them]",
)
@click.option(
    "--enable-scheme",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Serve this kind only, such as TFJob or TFJob.kubeflow.org; repeatable.",
)
@click.option(
    "--skip-broken-frameworks",
    is_flag=True,
    help="Serve the others where an installed framework cannot be used, instead of not starting.",
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
@accelerated
@click.option(
    "--controller-threads",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Jobs worked on at once; at most half of them in one namespace.",
)
@click.option(
    "--metrics-bind-address",
    type=Address(),
    default=":8080",
    show_default=True,
    help="Where to answer /metrics; 0: nowhere.",
)
@click.option(
    "--health-probe-bind-address",
    type=Address(),
    default=":8081",
    show_default=True,
    help="Where to answer /healthz and /readyz; 0: nowhere.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    help="Of several operators let one work and the others wait.  [default: no-leader-elect]",
)
@click.option(
    "--leader-election-id",
    type=Name(),
    default="trainop",
    show_default=True,
    metavar="NAME",
    help="Name of the Lease.",
)
@click.option(
    "--leader-election-namespace",
    type=Name(),
    default="",
    metavar="NAME",
    help="Where the Lease is.  [default: the operator's own namespace]",
)
@click.option(
    "--leader-election-lease-duration",
    type=Seconds(),
    default="15s",
    show_default=True,
    help="How long the others wait for a leader that is silent.",
)
@click.option(
    "--leader-election-renew-deadline",
    type=Seconds(),
    default="10s",
    show_default=True,
    help="How long a leader that cannot renew its lease goes on.",
)
@click.option(
    "--leader-election-retry-period",
    type=Seconds(),
    default="2s",
    show_default=True,
    help="How often the leader renews; the others look twice as often.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Of each line.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least that is worth a line.",
)
@click.option("-v", "--verbose", is_flag=True, help="The same as --log-level debug.")
def command(
    kubeconfig: str | None,
    context: str | None,
    namespaces: tuple[str, ...],
    kinds: tuple[str, ...],
    skip_broken_frameworks: bool,
    cluster_domain: str,
    gang_scheduler: str,
    accelerators: Accelerators,
    controller_threads: int,
    metrics_bind_address: str,
    health_probe_bind_address: str,
    leader_elect: bool,
    leader_election_id: str,
    leader_election_namespace: str,
    leader_election_lease_duration: float,
    leader_election_renew_deadline: float,
    leader_election_retry_period: float,
    log_format: logs.Format,
    log_level: str,
    verbose: bool,
) -> None:
    """Run the operator until SIGTERM or Ctrl-C.

    \b
    Examples:
      trainop operator                            every namespace and kind
      trainop operator --namespace team-a         only that namespace
      trainop operator --enable-scheme TFJob -v   only TFJobs, telling more
      trainop operator --leader-elect             one of several
    """
    logs.to_stderr(log_format, "debug" if verbose else log_level)
    served = _served(kinds, skip_broken=skip_broken_frameworks)
    terms = Terms(
        duration=leader_election_lease_duration,
        renew_deadline=leader_election_renew_deadline,
        retry_period=leader_election_retry_period,
    )
    if not terms.duration > terms.renew_deadline > terms.retry_period:
        raise click.UsageError(
            "of the leader election's times the lease duration must be the longest, then the renew deadline, "
            f"then the retry period; they are {terms.duration:g}, {terms.renew_deadline:g} and "
            f"{terms.retry_period:g} seconds"
        )
    election = Election(name=leader_election_id, namespace=leader_election_namespace, terms=terms)
    options = Options(
        kubeconfig=kubeconfig,
        context=context,
        namespaces=_namespaces(namespaces),
        settings=Settings(
            cluster_domain=cluster_domain, gang_scheduler=gang_scheduler, **accelerators.settings()
        ),
        workers=controller_threads,
        election=election if leader_elect else None,
        metrics_address=metrics_bind_address,
        probe_address=health_probe_bind_address,
    )
    _run(serve(served, options))


def _served(kinds: tuple[str, ...], *, skip_broken: bool) -> dict[GVK, Framework[Any]]:
    """The frameworks of these kinds, or all of them. A kind that nobody serves is a typo; but it may be that of a
    framework which is broken, and then the others go on."""
    installed, broken = registry.found()
    if broken and not skip_broken:
        reasons = "; ".join(map(str, broken))
        raise BrokenFramework(
            f"{reasons}; mend or uninstall what is broken, or start without it: --skip-broken-frameworks"
        )
    for reason in broken:
        log.error("%s; its jobs are not served", reason)
    served = only(installed, kinds)
    if unknown := sorted(kind for kind in kinds if not only(installed, [kind])):
        if not (broken and served):
            there = ", ".join(sorted({gvk.kind for gvk in installed}))
            raise click.UsageError(f"no installed framework serves {', '.join(unknown)}; there are: {there}")
        log.error("no framework that can be used serves %s", ", ".join(unknown))
    return served


def _namespaces(flags: tuple[str, ...]) -> tuple[str, ...]:
    words = flags or (os.environ.get("KUBEFLOW_NAMESPACE", ""),)
    names = dict.fromkeys(name.strip() for word in words for name in word.split(",") if name.strip())
    if odd := [name for name in names if not _NAMESPACE.fullmatch(name)]:
        # In one that cannot be there, nothing would be found and nobody told.
        raise click.UsageError(f"no namespace can be called {', '.join(odd)}: names have a-z, 0-9 and dashes")
    return tuple(names)


def _run(main: object) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)  # type: ignore[arg-type]  # a coroutine
    else:
        uvloop.run(main)  # type: ignore[arg-type]  # a coroutine
