"""`trainop new-framework`: a framework of one's own to begin with, which keeps the contract from the start."""

from __future__ import annotations

import json
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainop.cli.options import output
from trainop.errors import Usage

if TYPE_CHECKING:
    from trainop.starter import Names


@click.command("new-framework")
@click.argument("name")
@click.option("--package", is_flag=True, help="Write a project that pip can install, trainop-NAME.")
@click.option("--kind", help="Of its jobs.  [default: NAME, capitalized, with Job at its end]")
@click.option("--group", help="The API group of its jobs.  [default: NAME.example.com]")
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder to write it into.  [default: where you are]",
)
@output()
def command(
    name: str, package: bool, kind: str | None, group: str | None, output_dir: Path, output: str
) -> None:
    """Begin a framework of your own: the folder NAME with its code and an example, or a project for pip.

    It keeps the contract as it is: change the roles, the environment and the example one by one, and check it again.
    What is there already is not touched. docs/adding-a-framework.md tells the rest.

    \b
    Examples:
      trainop new-framework relay
      trainop new-framework relay --package --group ml.example.org
      trainop new-framework relay --kind RelayRace --output-dir frameworks
    """
    from trainop import starter

    names = starter.Names(name, kind or f"{name.capitalize()}Job", group or f"{name}.example.com")
    _check(names)
    files = starter.project(names) if package else starter.folder(names)
    written = _write(output_dir, files)
    steps = _steps(names.name, written)
    if output == "json":
        click.echo(json.dumps({"files": [str(path) for path in written], "next": steps}, indent=2))
    else:
        click.echo("\n".join(f"wrote {path}" for path in written))
        click.echo("\nNext:\n" + "\n".join(f"  {step}" for step in steps))


def _check(names: Names) -> None:
    from trainop import registry
    from trainop.check import facts

    for field, value in names._asdict().items():
        for complaint in facts.called(field, value):
            raise Usage(f"{complaint.message}: {complaint.remedy}")
    if iskeyword(names.name):
        raise Usage(f"name is {names.name!r}, which is a word of Python: choose another one")
    if names.name in {framework.name for framework in registry.found().frameworks.values()}:
        raise Usage(f"a framework called {names.name} is installed: choose another name")
    if owner := registry.owner(names.group, names.kind, names.plural):
        raise Usage(
            f"{names.kind} of {names.group} is of the framework {owner}: choose another --kind or --group"
        )


def _write(folder: Path, files: dict[str, str]) -> list[Path]:
    """All or nothing as far as what was there goes: the first part of every path is new."""
    top = folder / Path(next(iter(files))).parts[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        top.mkdir()
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
    except FileExistsError:
        raise Usage(f"{top} is there already: remove it, or choose another name or --output-dir") from None
    except OSError as error:
        raise Usage(f"{top} cannot be written: {error.strerror}; name another --output-dir") from None
    return [folder / path for path in files]


def _steps(name: str, written: list[Path]) -> list[str]:
    """What to type now. For pip a path is one only if it looks like it."""
    module, example = written[-1].parent, written[-1]
    if module.name == name:
        return [f"trainop check-framework {module}"]
    project = module.parent if module.is_absolute() else f"./{module.parent}"
    return [f"pip install {project}", f"trainop check-framework {name}", f"trainop run {example}"]
