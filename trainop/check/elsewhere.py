"""The check of what depends on the process: another one, in which sets have another order, must say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from trainop.check.subject import Complaint, Subject
from trainop.engine.topology import topology

SEEDS = ("1", "2")
"""Of the hashes of text, by which sets are ordered: two, for the smallest ones may have the same order by chance."""


def same(target: str, subject: Subject) -> Iterator[Complaint]:
    here = json.loads(json.dumps(said(subject)))
    for seed in SEEDS:
        there = _asked(target, seed)
        for what in (what for what in here if here[what] != there.get(what)):
            yield Complaint(
                f"{what} would not be the same in another process",
                "sort what comes out of a set; ask no clock, and nothing of this machine",
            )


def said(subject: Subject) -> dict[str, Any]:
    """All that a process makes of jobs of the kind, by what it is about, and in its order."""
    told: dict[str, list[object]] = {}
    for job in subject.jobs:
        members = topology(subject.framework, job)
        tell = subject.framework.bootstrap(job, members)
        for me in members:
            told.setdefault(f"what {me.name} is told", []).append(list(tell(me).items()))
    return {"the CRD": subject.crd, **told}


def _asked(target: str, seed: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "trainop.check.elsewhere", target]
    done = subprocess.run(  # noqa: S603 - this program
        argv, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(
        done.stdout.splitlines()[-1]
    )  # a framework may print when it is imported
    return found


if __name__ == "__main__":
    from trainop.check.target import load

    framework: Any = load(sys.argv[1])
    sys.stdout.write(json.dumps(said(Subject(framework))))
