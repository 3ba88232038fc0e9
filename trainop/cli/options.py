"""The options that commands share, and how they end: where the cluster is, which job is meant, what to print."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from trainop.errors import Unreachable, Usage

if TYPE_CHECKING:  # it takes long to import, and --help needs none of it
    from trainop.kube.credentials import Credentials

T = TypeVar("T")
Command = Callable[..., Any]
INTERRUPTED = 130
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


class Where(NamedTuple):
    """How to reach a cluster, as somebody has said it."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None

    def credentials(self) -> Credentials:
        from trainop.kube.credentials import load

        try:
            return load(self.kubeconfig, self.context)
        except Usage as error:
            raise Unreachable(str(error)) from error


class Accelerators(NamedTuple):
    """What somebody has said about them."""

    config_file: str
    rename_gpu: bool

    def settings(self) -> dict[str, Any]:
        """Their part of the settings."""
        from trainop.operator.config import load

        found = load(self.config_file) if self.config_file else ()
        return {"accelerators": found, "rename_gpu": self.rename_gpu}


class Seconds(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """`15`, `15s`, `1m30s`, `2h`: with or without the units of the old operator's flags."""
        parts = re.findall(r"(\d+(?:\.\d+)?)([dhms]?)", str(value))
        seconds = sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)
        if "".join(map("".join, parts)) != str(value) or seconds <= 0:
            self.fail(f"{value!r} is no duration; write 15s, 10m or 1h30m", param, ctx)
        return seconds


def cluster(command: Command) -> Command:
    """`--kubeconfig` and `--context`, as the argument `where`."""

    @functools.wraps(command)
    def packed(*args: Any, kubeconfig: str | None, context: str | None, **words: Any) -> Any:
        namespace = words.pop("namespace", None)
        return command(*args, where=Where(kubeconfig, context, namespace), **words)

    packed = click.option("--context", help="The context of the kubeconfig; default: its current one.")(
        packed
    )
    return click.option(
        "--kubeconfig", envvar="KUBECONFIG", help="How to reach the cluster.  [env: KUBECONFIG]"
    )(packed)


def namespaced(command: Command) -> Command:
    """The same, and `--namespace`."""
    return cluster(
        click.option("-n", "--namespace", help="Where the job is; default: the context's namespace.")(command)
    )


def accelerated(command: Command) -> Command:
    """`--controller-config-file` and `--rename-gpu`, as the argument `accelerators`."""

    @functools.wraps(command)
    def packed(*args: Any, config_file: str, rename_gpu: bool, **words: Any) -> Any:
        return command(*args, accelerators=Accelerators(config_file, rename_gpu), **words)

    packed = click.option(
        "--rename-gpu/--no-rename-gpu",
        default=True,
        help="Ask nodes for nvidia.com/gpu where a job says alpha.kubernetes.io/nvidia-gpu.  "
        "[default: rename-gpu]",
    )(packed)
    return click.option(
        "--controller-config-file",
        "--controller_config_file",
        "config_file",
        default="",
        metavar="PATH",
        help="YAML: volumes and variables for containers that ask for an accelerator.",
    )(packed)


def output(*formats: str) -> Callable[[Command], Command]:
    choices = click.Choice(formats or ("text", "json"))
    return click.option("-o", "--output", type=choices, default=choices.choices[0], show_default=True)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Ctrl-C ends a command that waits or follows without a word."""
    try:
        return asyncio.run(main)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
