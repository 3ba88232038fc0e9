"""`trainop check-framework`: whether a framework module keeps the contract, and what to do where it does not."""

from __future__ import annotations

import json

import click

from trainop.cli import lines


@click.command("check-framework")
@click.argument("target", metavar="FRAMEWORK", type=click.Path())
@click.option(
    "--example",
    "examples",
    metavar="PATH",
    multiple=True,
    type=click.Path(),
    help="A file with jobs of its kind, which must have no mistakes; may be repeated.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(target: str, examples: tuple[str, ...], output: str) -> None:
    """Check a framework against the contract: its facts, its CRD, and what it does on many jobs of its kind.

    FRAMEWORK is the name of an installed one, MODULE:ATTRIBUTE, or the path of a folder or file that has a
    FRAMEWORK. Its code is run. Needs no cluster. Ends with 1 if a check fails.

    \b
    Examples:
      trainop check-framework tensorflow
      trainop check-framework frameworks/mxnet --example examples/mxnet/mxjob.yaml
      trainop check-framework my_package.framework:FRAMEWORK -o json
    """
    from trainop.check import contract
    from trainop.check.target import load

    results = []
    for result in contract.run(lambda: load(target), examples):
        results.append(result)
        if output == "text":
            text = f"{result.check}: {result.message}" if result.message else result.check
            lines.tell("ok" if result.ok else "problem", text, result.remedy)
    failed = sum(not result.ok for result in results)
    if output == "json":
        click.echo(json.dumps([result._asdict() for result in results], indent=2))
    else:
        click.echo(
            f"\n{failed} of {len(results)} checks failed" if failed else f"\nall {len(results)} checks passed"
        )
    raise SystemExit(1 if failed else 0)
