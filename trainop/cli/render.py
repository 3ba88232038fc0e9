"""`trainop render`: the pods, services and PodGroup that the operator would make; no cluster is asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from trainop.cli import mistakes
from trainop.cli.options import Accelerators, accelerated
from trainop.errors import Usage

if TYPE_CHECKING:  # see mistakes.py
    from trainop.files.checker import Checked
    from trainop.model import Settings


@click.command("render")
@click.argument("path", metavar="PATH", type=click.Path())
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    metavar="NAME",
    help="Of a job that names none.",
)
@click.option(
    "--gang-scheduler-name",
    "gang_scheduler",
    default="",
    metavar="NAME",
    help="As the operator's own: 'volcano', or a scheduler with the coscheduling plugin.",
)
@click.option("--cluster-domain", default="", metavar="NAME", help="As the operator's own: ends DNS names.")
@accelerated
def command(
    path: str,
    output: str,
    namespace: str,
    gang_scheduler: str,
    cluster_domain: str,
    accelerators: Accelerators,
) -> None:
    """Print the pods, services and PodGroup that the operator would make of the jobs in a file.

    PATH is a file, a folder or - for stdin. They are printed as the operator would send them, TF_CONFIG and DMLC_*
    included, but for ownerReferences: only a job that is in a cluster has a UID. What the operator would warn of
    goes to stderr. Bad YAML is reported as by `trainop validate`, with exit code 2.

    \b
    Examples:
      trainop render job.yaml
      trainop render job.yaml --gang-scheduler-name volcano -o json
      cat job.yaml | trainop render - --namespace team-a
    """
    from trainop.model import Settings

    jobs = mistakes.good(path)
    settings = Settings(
        cluster_domain=cluster_domain, gang_scheduler=gang_scheduler, **accelerators.settings()
    )
    manifests = [item for checked in jobs for item in _rendered(checked, namespace, settings)]
    click.echo(_text(manifests, output), nl=False)


def _rendered(checked: Checked, namespace: str, settings: Settings) -> tuple[dict[str, Any], ...]:
    from msgspec.structs import replace

    from trainop.render import render

    job = checked.job
    if not checked.namespace:
        job = replace(job, key=job.key._replace(namespace=namespace))
    rendering = render(checked.framework, job, settings, datetime.now(UTC))
    for event in rendering.warnings:
        click.echo(mistakes.escaped(f"warning: {job.key}: {event.message} ({event.reason})"), err=True)
    if rendering.failed:
        raise Usage(f"{job.key} would fail at once: nothing is made of it")
    if not rendering.manifests:
        why = "it is suspended" if job.policy.ours else f"it is managed by {job.policy.managed_by}"
        click.echo(f"note: {job.key}: nothing is made as long as {why}", err=True)
    return rendering.manifests


def _text(manifests: list[dict[str, Any]], output: str) -> str:
    if output == "json":
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}, indent=2) + "\n"
    from trainop.files.dump import dump

    return dump(manifests)
