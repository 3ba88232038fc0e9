"""`trainop completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from trainop.cli import main

PROGRAMS = ("trainop", "kubectl-trainop")


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option(
    "--program",
    type=click.Choice(PROGRAMS),
    default=PROGRAMS[0],
    show_default=True,
    help="Whose words are to be completed.",
)
def command(shell: str, program: str) -> None:
    """Print a script that makes a shell complete commands and options.

    \b
    bash:  add to ~/.bashrc                  eval "$(trainop completion bash)"
    zsh:   add to ~/.zshrc, after compinit   eval "$(trainop completion zsh)"
    fish:  run once
           trainop completion fish > ~/.config/fish/completions/trainop.fish

    \b
    Examples:
      trainop completion bash
      trainop completion zsh --program kubectl-trainop
    """
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    found = get_completion_class(shell)
    if found is None:
        raise AssertionError(f"click does not complete in {shell}")
    click.echo(found(main, {}, program, variable).source())
