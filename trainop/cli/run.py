"""`trainop run`: a job as processes on this machine, with the operator of a cluster."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import click

from trainop import registry
from trainop.cli import options, run_options
from trainop.cli.run_screen import Screen
from trainop.errors import BrokenFramework, TrainopError
from trainop.local import checks, folder
from trainop.local.run import Run, Why
from trainop.operator import logs

log = logging.getLogger(__name__)


@click.command("run")
@click.argument("file", type=click.Path())
@click.option(
    "--mount",
    "mounts",
    metavar="PATH=FOLDER",
    multiple=True,
    help="A path of the containers, and the folder here that stands for it; may be repeated.",
)
@click.option(
    "--python",
    "pythons",
    metavar="[IMAGE=]PATH",
    multiple=True,
    help="The interpreter, or virtual environment, of this image's containers, or of all.",
)
@click.option("--env", metavar="NAME=VALUE", multiple=True, help="Set in every container; may be repeated.")
@click.option(
    "--scale", metavar="ROLE=N", multiple=True, help="So many members of this role; may be repeated."
)
@click.option(
    "--timeout", type=options.Seconds(), help="End the run after this time, such as 90s, 10m or 1h."
)
@click.option(
    "--keep",
    is_flag=True,
    help="What the job leaves running at its end, such as a TensorBoard, runs on until Ctrl-C.",
)
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    help="For logs and state; default: a new one below ~/.local/state/trainop-runs.",
)
@click.option("--tail", is_flag=True, help="Show the logs of all members as they are written.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: the job with its status, at the end.",
)
def command(
    file: str,
    mounts: tuple[str, ...],
    pythons: tuple[str, ...],
    env: tuple[str, ...],
    scale: tuple[str, ...],
    timeout: float | None,
    keep: bool,
    run_dir: Path | None,
    tail: bool,
    output: str,
) -> None:
    """Run a job as processes on this machine: the same engine, environment and status as in a cluster.

    Ends with 0 if the job has succeeded, with 1 if it has failed or the time was over, with 2 if it cannot be run,
    with 130 if it was interrupted. Ctrl-C stops all members, a second one kills them.

    \b
    Examples:
      trainop run job.yaml
      trainop run job.yaml --mount /app=. --python ~/venvs/tf --scale Worker=2
      trainop run job.yaml --tail --timeout 10m
      trainop run job.yaml -o json | jq .status.conditions
    """
    chosen = run_options.options(mounts, pythons, env)
    framework, raw, job = run_options.job(file, scale, chosen)
    place = folder.made(run_dir, job.name)
    screen = Screen(framework, place, to_stderr=output == "json", tail=tail)
    names, remarks = list(run_options.names(framework, job)), checks.remarks(framework, job, chosen)
    screen.begin(f"{framework.kind} {job.name}", names, remarks)
    run = Run(framework, screen.book, place, chosen)
    logs.to_file(place.own_log)
    try:
        with screen.shown():
            why = asyncio.run(run.play(raw, limit=timeout, keep=keep, screen=screen))
    except (ExceptionGroup, OSError) as error:
        log.exception("the run was ended by an error")
        if told := registry.blamed(_first(error)):
            raise BrokenFramework(told) from error
        raise TrainopError(f"the run was ended by an error: {_first(error)}; see {place.own_log}") from error
    screen.end(why, timeout or 0)
    if output == "json":
        click.echo(json.dumps(screen.book.job, indent=2))
    sys.exit(_code(why, succeeded=screen.succeeded))


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def _code(why: Why, *, succeeded: bool) -> int:
    match why:
        case Why.ENDED:
            return 0 if succeeded else 1
        case Why.LATE:
            return 1
        case Why.INTERRUPTED:
            return 130
