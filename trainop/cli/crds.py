"""`trainop crds`: what `kubectl apply` needs so that the cluster knows the job kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from trainop.errors import Usage

HEADER = "# Generated from the models by `make crds` (`trainop crds`): change those, not this file.\n"


@click.command("crds")
@click.option("--framework", "names", metavar="NAME", multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file per CRD, GROUP_PLURAL.yaml, into this folder instead.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(names: tuple[str, ...], output_dir: Path | None, output: str) -> None:
    """Print the CustomResourceDefinitions of the installed frameworks, or write them to files.

    \b
    Examples:
      trainop crds | kubectl apply -f -
      trainop crds --framework tensorflow -o json
      trainop crds --output-dir crds
    """
    crds = _crds(names)
    if output_dir:
        try:
            _write(crds, output_dir, output)
        except OSError as error:
            raise Usage(f"{output_dir}: {error.strerror}; name another --output-dir") from None
    elif output == "yaml":
        click.echo("---\n".join(map(_yaml, crds)), nl=False)
    else:
        click.echo(_json({"apiVersion": "v1", "kind": "List", "items": crds}), nl=False)


def _crds(names: tuple[str, ...]) -> list[dict[str, Any]]:
    from trainop.crd import crd
    from trainop.registry import called

    return [crd(framework) for framework in called(names)]


def _write(crds: list[dict[str, Any]], folder: Path, output: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for item in crds:
        path = folder / f"{item['spec']['group']}_{item['spec']['names']['plural']}.{output}"
        path.write_text(_yaml(item) if output == "yaml" else _json(item))
        click.echo(f"wrote {path}", err=True)


def _yaml(item: dict[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(item, width=110, allow_unicode=True)
    return HEADER + text


def _json(item: dict[str, Any]) -> str:
    return json.dumps(item, indent=2, ensure_ascii=False) + "\n"
