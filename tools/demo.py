"""`make demo`: trains with TensorFlow and with MXNet as processes on this machine, and kills a worker on the way."""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.cluster import progress
from tests.cluster.binaries import cache
from tests.cluster.build import Unavailable
from tools import environments
from tools.environments import MXNET, TENSORFLOW, Example
from tools.training import Outcome, Training

VICTIMS = {TENSORFLOW: "hello-tensorflow-worker-1"}
"""MXNet takes no worker back in mid-training; examples/mxnet/README.md says what happens."""
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 20


class Demo:
    """Two trainings, one after the other, and what to show of them."""

    def __init__(self, console: Console, logs: Path, *, recorded: bool) -> None:
        self.console, self.logs, self.recorded = console, logs, recorded
        self.done: dict[Example, Outcome] = {}

    def run(self, *examples: Example) -> int:
        """The code to exit with."""
        found = {example: self._environment(example) for example in examples}
        for example, environment in found.items():
            if environment:
                self.done[example] = self._train(example, environment)
                if self.done[example].code == 130:
                    return 130
        self._show(examples)
        return 0 if self.done and all(_good(outcome) for outcome in self.done.values()) else 1

    def _environment(self, example: Example) -> Path | None:
        try:
            return environments.environment(example, progress.on_stderr())
        except Unavailable as reason:
            left_out = Text.assemble((f"{example.title} is left out: ", "yellow"), str(reason))
            self.console.print(left_out, soft_wrap=True)
            return None

    def _train(self, example: Example, environment: Path) -> Outcome:
        victim = VICTIMS.get(example, "")
        training = Training(example, environment, self.logs / example.folder.name, victim)
        self.console.rule(f"[bold]{example.title}", align="left")
        self._say(f"$ {' '.join(training.words)}", "bold")
        if victim:
            self._say(f"# {victim} will be killed as soon as the losses fall", "dim")
        return training.run(self._say if self.recorded else None)

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(self._tidy(line), style), soft_wrap=not self.recorded)

    def _tidy(self, line: str) -> str:
        """Without what is different on every machine."""
        for path, name in ((self.logs, "LOGS"), (cache(), "~/.cache/trainop"), (Path.home(), "~")):
            line = line.replace(str(path), name) if self.recorded or path != self.logs else line
        return line

    def _show(self, examples: tuple[Example, ...]) -> None:
        self.console.rule("[bold]what came of it", align="left")
        table = Table("job", "state", "restarts", "loss", "", "time", box=None, padding=(0, 2, 0, 0))
        for example in examples:
            table.add_row(*_row(example, self.done.get(example)))
        self.console.print(table)
        left = [pid for outcome in self.done.values() for pid in outcome.processes]
        self.console.print(f"[red]left running: {left}" if left else "No process is left.", highlight=False)


def _row(example: Example, outcome: Outcome | None) -> tuple[str, ...]:
    if outcome is None:
        return example.title, "[yellow]left out"
    colour = "green" if _good(outcome) else "red"
    restarts = ", ".join(f"{pod.split('-', 2)[2]}: {number}" for pod, number in outcome.restarts.items())
    losses = outcome.losses
    falling = f"{losses[0]:.3f} → {losses[-1]:.3f}" if losses else "none"
    state = f"[{colour}]{outcome.state}"
    return example.title, state, restarts or "none", falling, sparkline(losses), f"{outcome.seconds:.0f} s"


def _good(outcome: Outcome) -> bool:
    falling = len(outcome.losses) > 1 and outcome.losses[-1] < outcome.losses[0]
    return outcome.code == 0 and falling and not outcome.processes


def sparkline(losses: list[float]) -> str:
    """On a logarithmic scale, which shows the end as well as the beginning."""
    if not losses:
        return ""
    count, last = min(_WIDTH, len(losses)), len(losses) - 1
    some = [losses[round(number * last / max(count - 1, 1))] for number in range(count)]
    heights = [math.log(max(loss, 1e-6)) for loss in some]
    low, span = min(heights), max(heights) - min(heights)
    return "".join(_BARS[round((height - low) / (span or 1) * (len(_BARS) - 1))] for height in heights)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write what is to be seen as an SVG picture"
    )
    file: Path | None = parser.parse_args().record
    console = Console(
        highlight=False, record=bool(file), width=100 if file else None, force_terminal=True if file else None
    )
    demo = Demo(console, Path(tempfile.mkdtemp(prefix="trainop-demo-")), recorded=bool(file))
    try:
        code = demo.run(TENSORFLOW, MXNET)
    except KeyboardInterrupt:  # while something is installed: that has ended too
        return 130
    if file and code == 0:
        picture = console.export_svg(title="make demo", unique_id="demo")
        file.write_text(re.sub(r"@font-face {.*?}", "", picture, flags=re.DOTALL))  # it fetches nothing
    return code


if __name__ == "__main__":
    sys.exit(main())
