"""The folder of a run: logs, process ids, volumes, and what was last seen of the job."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from trainop.errors import Usage


class Folder:
    """
    state.json                 {"job": …, "pods": […], "services": […], "events": […]}, replaced as a whole
    logs/POD/CONTAINER.N.log   one for each start of a container, counted from 0 over restarts and replacements
    pids/POD.CONTAINER         the process and its group, while it runs
    volumes/POD-UID/NAME       what emptyDir volumes hold
    trainop.log                what the operator has to say
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state, self.logs, self.pids = path / "state.json", path / "logs", path / "pids"
        self.own_log = path / "trainop.log"
        self._starts: Counter[tuple[str, str]] = Counter()
        for folder in (self.logs, self.pids):
            folder.mkdir(parents=True, exist_ok=True)

    def next_log(self, pod: str, container: str) -> Path:
        number = self._starts[pod, container]
        self._starts[pod, container] += 1
        folder = self.logs / pod
        folder.mkdir(exist_ok=True)
        return folder / f"{container}.{number}.log"

    def newest_log(self, pod: str, container: str, ago: int = 0) -> Path | None:
        """Or the one so many starts before; None: it was not started so often."""
        number = self._starts[pod, container] - 1 - ago
        return self.logs / pod / f"{container}.{number}.log" if number >= 0 else None

    def pid(self, pod: str, container: str) -> Path:
        return self.pids / f"{pod}.{container}"

    def volume(self, pod: str, uid: str, name: str) -> Path:
        folder = self.path / "volumes" / f"{pod}-{uid}" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def save(self, state: dict[str, Any]) -> None:
        """Whoever reads it finds the old or the new one, never a half."""
        half = self.state.with_suffix(".tmp")
        half.write_text(json.dumps(state, indent=1))
        half.replace(self.state)


def made(wanted: Path | None, job: str) -> Folder:
    """The wanted one, which must not hold anything yet, or a new one where users' programs keep such things."""
    if wanted is not None:
        if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
            raise Usage(f"--run-dir {wanted} holds something already: name a new or an empty folder")
        return _folder(wanted)
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    runs, number = Path(home) / "trainop-runs", 1
    time = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    while True:
        path = runs / (f"{job}-{time}" + (f"-{number}" if number > 1 else ""))
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise Usage(f"{path} cannot be made ({error.strerror}): name a folder with --run-dir") from error
        else:
            return Folder(path)


def _folder(path: Path) -> Folder:
    try:
        return Folder(path.absolute())
    except OSError as error:
        raise Usage(f"--run-dir {path} cannot be made: {error.strerror}") from error
