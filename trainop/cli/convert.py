"""`trainop convert`: jobs of dialects and of older versions as the newest version has them, and what that changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trainop.cli import mistakes, options
from trainop.cli.options import Where
from trainop.errors import Usage

if TYPE_CHECKING:  # see mistakes.py
    from trainop.convert import Converted


class Result(NamedTuple):
    where: str
    """The file, or the cluster."""
    converted: Converted
    title: str


@click.command("convert")
@click.argument("what", metavar="PATH|JOB")
@options.namespaced
@options.output("yaml", "json")
def command(what: str, where: Where, output: str) -> None:
    """Print jobs of any earlier kind or version as kubeflow.org/v1.

    PATH is a file, a folder or - for stdin; JOB is a job in the cluster, as KIND/NAME. The YAML goes to stdout. What
    changes, and what v1 has no equal for, is told on stderr; -o json has both. A job that is v1 already is printed
    as it is. Ends with 2 if a job cannot be converted; nothing is changed in the cluster.

    \b
    Examples:
      trainop convert old-job.yaml > job.yaml
      trainop convert old-jobs/ -o json
      cat old-job.yaml | trainop convert -
      trainop convert tfjob/mnist > job.yaml
    """
    results = list(_from_files(what) if _is_path(what) else options.run(_from_cluster(what, where)))
    for result in results:
        _tell(result, quiet=output == "json")
    if not results:
        raise Usage(f"{what}: there is no job in it that could be converted")
    good = [result for result in results if not result.converted.problems]
    click.echo(_as_json(good) if output == "json" else _as_yaml(good), nl=False)
    raise SystemExit(0 if len(good) == len(results) else 2)


def _is_path(what: str) -> bool:
    from trainop.files.documents import ENDINGS, STDIN

    return what == STDIN or what.endswith(ENDINGS) or Path(what).exists()


def _from_files(path: str) -> Iterator[Result]:
    from trainop.files.documents import read

    for document in read([path]):
        if document.flaws or not isinstance(document.value, Mapping):
            flaw = document.flaws[0] if document.flaws else None
            line = flaw.place.line if flaw else document.start.line
            raise Usage(f"{document.file}:{line}: {flaw.message if flaw else 'this is no Kubernetes object'}")
        if result := _result(document.file, document.value):
            yield result
        else:
            kind = mistakes.escaped(f"{document.value.get('kind')} of {document.value.get('apiVersion')}")
            click.echo(f"{document.file}: {kind} is no job that could be converted, and left out", err=True)


async def _from_cluster(job: str, where: Where) -> list[Result]:
    from trainop.cli.subject import in_cluster, opened

    async with opened(where, in_cluster(job)) as (_, found):
        result = _result("cluster", found.raw)
    return [result] if result else []


def _result(where: str, raw: Mapping[str, Any]) -> Result | None:
    from trainop.convert import convert
    from trainop.registry import by_name

    converted = convert(by_name().values(), raw)
    if converted is None:
        return None
    metadata = raw.get("metadata")
    name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, Mapping) else None
    return Result(where, converted, f"{raw.get('kind')} {name or 'without a name'}")


def _tell(result: Result, *, quiet: bool) -> None:
    converted = result.converted
    about = f"{result.where}: {result.title}"
    for problem in converted.problems:
        click.echo(mistakes.escaped(f"{about} cannot be converted: {problem}"), err=True)
    if quiet or converted.problems:
        return
    if converted.same:
        click.echo(mistakes.escaped(f"{about} is {converted.source.split()[0]} already"), err=True)
        return
    click.echo(mistakes.escaped(f"{about} of {converted.source.split()[0]}"), err=True)
    for word, sentences in (("changed", converted.changed), ("no equal", converted.lost)):
        for sentence in sentences:
            text = click.wrap_text(mistakes.escaped(sentence), 80, f"  {word}: ", "    ")
            click.echo(text, err=True)


def _as_json(results: list[Result]) -> str:
    items = [
        {
            "from": result.converted.source,
            "file": result.where,
            "job": result.converted.job,
            "changed": result.converted.changed,
            "noEqual": result.converted.lost,
        }
        for result in results
    ]
    return json.dumps(items, indent=2) + "\n"


def _as_yaml(results: list[Result]) -> str:
    from trainop.files.dump import dump

    return dump(result.converted.job for result in results)
