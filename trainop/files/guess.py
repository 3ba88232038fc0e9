"""What someone who wrote an unknown word probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

LIKENESS = 0.65
"""`evn` is like `env`, `Wroker` like `Worker`."""
FEW = 12
"""So many words can be listed in a hint."""


def meant(word: str, known: Iterable[str], likeness: float = LIKENESS) -> str | None:
    """The known word that is most like it, whatever the letter case; None when none is."""
    spelled = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), spelled, n=1, cutoff=likeness)
    return spelled[found[0]] if found else None


def listed(words: Sequence[str]) -> str:
    """`Always, OnFailure or Never`; an empty word in quotes."""
    shown = [word or "''" for word in words]
    return " or ".join([*filter(None, [", ".join(shown[:-1])]), *shown[-1:]])
