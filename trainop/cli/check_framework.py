"""`trainop check-framework`: whether a framework module keeps the contract, and what to do where it does not."""

from __future__ import annotations

import json

import click

from trainop.cli import lines, options
from trainop.cli.options import Where


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
@click.option(
    "--run",
    "runs",
    metavar="PATH",
    multiple=True,
    type=click.Path(),
    help="Such a file, whose jobs must also run here as processes and succeed; may be repeated.",
)
@options.cluster
@options.output()
def command(target: str, examples: tuple[str, ...], runs: tuple[str, ...], where: Where, output: str) -> None:
    """Check a framework against the contract: its facts, its CRD, and what it does on many jobs of its kind.

    FRAMEWORK is the name of an installed one, MODULE:ATTRIBUTE, or the path of a folder or file that has a
    FRAMEWORK. Its code is run, and so is the example.yaml that lies beside it in a folder. If the API server of a
    kubeconfig answers, it is asked whether it would take the CRD. Ends with 1 if a check fails.

    \b
    Examples:
      trainop check-framework tensorflow
      trainop check-framework frameworks/mxnet --example examples/mxnet/mxjob.yaml
      trainop check-framework my_package.framework:FRAMEWORK -o json
    """
    from trainop.check import cluster, contract
    from trainop.check.target import home, load

    login = cluster.answering(where.credentials)
    results, ran = [], (*_own_example(target), *runs)

    def more() -> contract.More:
        return contract.More((*examples, *ran), ran, login, target)

    try:
        for result in contract.run(lambda: load(target), more, home(target)):
            results.append(result)
            if output == "text":
                text = f"{result.check}: {result.message}" if result.message else result.check
                lines.tell("ok" if result.ok else "problem", text, result.remedy)
    except KeyboardInterrupt:
        raise SystemExit(options.INTERRUPTED) from None
    failed = sum(not result.ok for result in results)
    if output == "json":
        click.echo(json.dumps([result._asdict() for result in results], indent=2))
    else:
        told = f"{failed} of {len(results)} checks failed" if failed else f"all {len(results)} checks passed"
        if not failed and not ran:
            told += "; no example was run"
        click.echo(f"\n{told}" + ("" if login else "; no API server was asked: none answers"))
    raise SystemExit(1 if failed else 0)


def _own_example(target: str) -> list[str]:
    """What the framework's folder brings."""
    from trainop.check.example import NAME
    from trainop.check.target import home

    folder = home(target)
    return [str(folder / NAME)] if folder and (folder / NAME).is_file() else []
