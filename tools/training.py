"""Trains an example through `trainop run`, kills a member on the way if that is wanted, and tells what came of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.environments import ROOT, Example
from trainop.local.warden import MARK, marked

_LOSS = re.compile(r"\bloss ([0-9.]+)$", re.MULTILINE)
_PAUSE = 0.1  # seconds between two looks at a log
Hear = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a run has left behind."""

    code: int
    folder: Path
    losses: list[float]
    seconds: float
    processes: list[int]
    """Those that should have ended with it."""

    @property
    def state(self) -> str:
        """The job's last condition."""
        file = self.folder / "state.json"
        job: dict[str, Any] = json.loads(file.read_text())["job"] if file.exists() else {}
        conditions = job.get("status", {}).get("conditions", [])
        return str(conditions[-1]["type"]) if conditions else "not started"

    @property
    def restarts(self) -> dict[str, int]:
        """Of each pod that was started more than once."""
        starts = {pod.name: len(list(pod.glob("*.log"))) for pod in (self.folder / "logs").glob("*")}
        return {pod: number - 1 for pod, number in sorted(starts.items()) if number > 1}


@dataclass(frozen=True)
class Training:
    """An example, where it runs, and what is to happen to it."""

    example: Example
    environment: Path
    folder: Path
    """For trainop to make, and to keep logs and state in."""
    victim: str = ""
    """The pod, or pods with a *, whose processes are to be killed as soon as there are some losses."""
    more: tuple[str, ...] = ()
    """Options of `trainop run`."""

    @property
    def words(self) -> list[str]:
        """What a person would type in the checkout."""
        example = self.example
        mount = f"/opt/train={example.folder.relative_to(ROOT)}"
        python = f"{example.image}={self.environment}"
        return ["trainop", "run", example.file, "--mount", mount, "--python", python, *self.more]

    def run(self, hear: Hear | None = None) -> Outcome:
        """To its end. Its lines go to `hear`; without one it has the terminal."""
        began, mark = time.monotonic(), str(self.folder)
        program, *words = self.words
        with subprocess.Popen(  # noqa: S603 - ourselves
            [Path(sys.executable).with_name(program), *words, "--run-dir", self.folder],
            cwd=ROOT, env={**os.environ, MARK: mark}, text=True,
            stdout=subprocess.PIPE if hear else None, stderr=subprocess.STDOUT if hear else None,
        ) as run:  # fmt: skip
            if self.victim:
                threading.Thread(target=self._kill, args=(run,)).start()
            if hear and run.stdout:
                for line in run.stdout:
                    hear(line.rstrip("\n"))
            code = _end(run)
        return Outcome(code, self.folder, self.losses(), time.monotonic() - began, sorted(marked(mark)))

    def losses(self) -> list[float]:
        logs = sorted((self.folder / "logs" / self.example.tells).glob("*.log"))
        return [float(loss) for log in logs for loss in _LOSS.findall(log.read_text())]

    def _kill(self, run: subprocess.Popen[str]) -> None:
        while len(self.losses()) < 3:
            time.sleep(_PAUSE)
            if run.poll() is not None:
                return
        for file in (self.folder / "pids").glob(f"{self.victim}.*"):
            os.kill(int(file.read_text()), signal.SIGKILL)


def _end(run: subprocess.Popen[str]) -> int:
    """Ctrl-C is for trainop, which has heard it too: it stops its members, and ends."""
    while True:
        try:
            return run.wait()
        except KeyboardInterrupt:
            continue
