"""What the doctor says: a finding, and what to do about it."""

from __future__ import annotations

from typing import Literal, NamedTuple

ASK = "ask someone who may see the whole cluster to run this"


class Finding(NamedTuple):
    level: Literal["ok", "warning", "problem"]
    about: str
    message: str
    remedy: str = ""
    """What to do, a line each: a sentence, or a command."""
