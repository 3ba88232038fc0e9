"""Where a container's folders are on this machine: paths in what a container is told become paths here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

# Where a path may begin in a word: not in the middle of a longer one, but after the `//` of a URL of a file.
_BEGINS = r"(?:(?<=://)|(?<![\w./-]))"
_ENDS = r"(?=/|$|[^\w.-])"


class Mounts:
    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {_tidy(inside): outside for inside, outside in folders.items()}
        longest_first = sorted(self._folders, key=len, reverse=True)
        self._pattern = re.compile(f"{_BEGINS}({'|'.join(map(re.escape, longest_first))}){_ENDS}")

    def translate(self, text: str) -> str:
        """Every path below a mount, wherever it stands in the text."""
        if not self._folders:
            return text
        return self._pattern.sub(lambda found: str(self._folders[found[1]]), text)

    def covers(self, path: str) -> bool:
        """Whether the path is a mount's or below one."""
        asked = _tidy(path)
        return any(asked == inside or asked.startswith(f"{inside}/") for inside in self._folders)

    def beneath(self, others: Mapping[str, Path]) -> Mounts:
        """With these too; where both have a folder, ours counts."""
        return Mounts({_tidy(inside): outside for inside, outside in others.items()} | self._folders)


def _tidy(path: str) -> str:
    return path.rstrip("/") or "/"
