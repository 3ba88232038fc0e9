"""What `trainop run` has left in its directory, as evidence: the job, its pods and events, and the logs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trainop.errors import Usage
from trainop.explain.evidence import Evidence
from trainop.framework import Framework
from trainop.kube.cluster import wall_clock
from trainop.kube.facts import LAST_WORDS, recorded
from trainop.kube.logs import Ask, Line
from trainop.model import GVK

Known = Mapping[GVK, Framework[Any]]


class Run(NamedTuple):
    path: Path


def newest(name: str) -> Run:
    """The last run of a job of that name, where `trainop run` keeps them unless it is told otherwise."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "trainop-runs"
    found = [path.parent for path in home.glob(f"{name}-*/state.json")]
    if not found:
        raise Usage(f"there is no local run of {name} in {home}: name its directory")
    return Run(max(found, key=lambda path: (path / "state.json").stat().st_mtime))


def look(run: Run, known: Known) -> Evidence:
    """As it was when the run last wrote it down, and the last words of programs that failed."""
    try:
        state = json.loads((run.path / "state.json").read_text())
        job = state["job"]
        group, _, version = job["apiVersion"].rpartition("/")
        framework = known[GVK(group, version, job["kind"])]
        evidence = recorded(framework, job, state["pods"], state["events"], wall_clock())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise Usage(f"{run.path} cannot be read as a local run: {error}") from error
    words = {pod.name: _last_words(run, pod.name, framework.container) for pod in evidence.pods}
    told = {name: lines for name, lines in words.items() if lines}
    return replace(evidence, last_words=told, home=str(run.path))


def read(run: Run, evidence: Evidence, ask: Ask) -> list[Line]:
    """Member by member: the files do not tell when a line was written."""
    found = []
    for row in ask.chosen(evidence):
        pod = row.pod_name or f"{evidence.job.name}-{row.name}"
        starts = _starts(run, pod, ask.container)
        for attempt, path in starts[-2:-1] if ask.previous else starts:
            lines = path.read_text(errors="replace").splitlines()
            kept = lines if ask.tail is None else lines[max(0, len(lines) - ask.tail) :]
            found += [Line(row.role, row.index, attempt, "", line) for line in kept]
    return found


def _starts(run: Run, pod: str, container: str) -> list[tuple[int, Path]]:
    """Each start of a container, in order, with its log."""
    found = []
    for path in (run.path / "logs" / pod).glob(f"{container}.*.log"):
        number = path.name.removeprefix(f"{container}.").removesuffix(".log")
        if number.isdecimal():
            found.append((int(number), path))
    return sorted(found)


def _last_words(run: Run, pod: str, container: str) -> tuple[str, ...]:
    starts = _starts(run, pod, container)
    return tuple(starts[-1][1].read_text(errors="replace").splitlines()[-LAST_WORDS:]) if starts else ()
