"""`trainop rbac`: what the operator must be allowed to do for the jobs of the installed frameworks."""

from __future__ import annotations

import json

import click

from trainop.cli.options import output


@click.command("rbac")
@click.option("--framework", "names", metavar="NAME", multiple=True, help="Only this one; may be repeated.")
@click.option("--name", default="trainop", show_default=True, help="Of the role.")
@click.option("-n", "--namespace", help="Print a Role for this namespace instead of a ClusterRole.")
@click.option(
    "--gang-scheduler-name",
    "gang_scheduler",
    default="",
    metavar="NAME",
    help="As the operator is told it: adds the right to make PodGroups.",
)
@output("yaml", "json")
def command(
    names: tuple[str, ...], name: str, namespace: str | None, gang_scheduler: str, output: str
) -> None:
    """Print the ClusterRole that the operator needs for the jobs of the installed frameworks, or of some.

    The chart grants the same by itself. Bind it to the operator's service account.

    \b
    Examples:
      trainop rbac | kubectl apply -f -
      trainop rbac --framework tensorflow --name trainop-tensorflow
      trainop rbac -n team-a -o json
    """
    import yaml

    from trainop import rights
    from trainop.engine import gang
    from trainop.model import Settings
    from trainop.registry import called

    scheduler = gang.scheduler(Settings(gang_scheduler=gang_scheduler))
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "rules": rights.rules(rights.of_jobs(called(names), scheduler.gvk if scheduler else None)),
    }
    if output == "json":
        click.echo(json.dumps(role, indent=2))
    else:
        click.echo(yaml.safe_dump(role, sort_keys=False, default_flow_style=None, width=110), nl=False)
