"""What people type: the command `trainop`. Each subcommand is a module here, imported when asked for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click
from click.exceptions import Abort, Exit, NoArgsIsHelpError
from click.shell_completion import CompletionItem

from trainop import __version__
from trainop.errors import TrainopError, Unreachable, Usage, in_short

COMMANDS = {
    "check-framework": "Check a framework module against the contract.",
    "completion": "Print what makes a shell complete commands.",
    "convert": "Print jobs of earlier kinds and versions as v1.",
    "crds": "Print the CustomResourceDefinitions, or write them to files.",
    "delete": "Delete a job and what was made for it.",
    "doctor": "Say what is wrong with an installation, and what to do.",
    "explain": "Say why a job is not running, or why it has failed.",
    "logs": "Print the logs of a job's members, interleaved.",
    "new-framework": "Begin a framework of your own: a folder, or a pip project.",
    "operator": "Run the operator, in a cluster or outside of one.",
    "rbac": "Print the rights that the operator needs.",
    "render": "Print the pods and services the operator would make.",
    "resume": "Let a suspended job start anew.",
    "run": "Run a job as processes on this machine.",
    "status": "Show how a job and its members are doing.",
    "suspend": "Take a job's pods away until it is resumed.",
    "validate": "Tell every mistake in files with jobs.",
    "version": "Print the version.",
    "wait": "Wait until a job has succeeded, or for something else.",
}
"""To add one: its name and what it does, here; and the click command `command` in trainop/cli/NAME.py."""


BUG = 70
"""The exit code for a mistake of ours, as sysexits.h has it."""
SHOW = "TRAINOP_TRACEBACK"
"""The variable that lets such a mistake be seen as Python tells it."""


class Commands(click.Group):
    """Shows its help without importing anything, and ends with one line when it cannot go on."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name.replace('-', '_')}").command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=purpose)
            for name, purpose in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        if os.getpid() == 1:
            # The first process of a container does not hear SIGTERM unless it says so, and imports take a while.
            signal.signal(signal.SIGTERM, _end)
        with _one_line(ctx):
            return super().invoke(ctx)


@contextmanager
def _one_line(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except TrainopError as error:
        _say(str(error))
        ctx.exit(exit_code(error))
    except (NoArgsIsHelpError, Abort, Exit):
        raise
    except click.UsageError as error:
        words = (ctx.command_path, ctx.invoked_subcommand or "")
        where = error.ctx.command_path if error.ctx else " ".join(words).strip()
        _say(f"{error.format_message().rstrip('.')} (see {where} --help)")
        ctx.exit(error.exit_code)
    except Exception as error:
        if os.environ.get(SHOW):
            raise
        from trainop.registry import blamed

        told = blamed(error)
        ours = f"this is a mistake in trainop, not yours: {in_short(error)}. "
        _say(told or f"{ours}Please report it with what {SHOW}=1 shows")
        ctx.exit(2 if told else BUG)


def _end(number: int, _: object) -> None:
    """As SIGTERM ends any other process: at once."""
    os._exit(128 + number)


def _say(sentence: str) -> None:
    click.echo(f"trainop: {' '.join(sentence.split())}", err=True)


def exit_code(error: TrainopError) -> int:
    """2: a person has to change something; 3: the cluster does not answer; 1: everything else."""
    match error:
        case Usage():
            return 2
        case Unreachable():
            return 3
    return 1


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trainop", message="%(prog)s %(version)s")
def main() -> None:
    """Distributed training jobs on Kubernetes: TFJob, MXJob and whatever framework is installed.

    \b
    Examples:
      trainop validate job.yaml
      trainop run job.yaml
      trainop crds | kubectl apply -f -
      trainop status mnist
      trainop explain mnist
      trainop COMMAND --help
    """
