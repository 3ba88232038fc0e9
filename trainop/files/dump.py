"""Manifests as YAML that kubectl reads as it was meant, each field spelled out where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from trainop.files import scalars

_UNFOLDED = 1_000_000
"""Columns: TF_CONFIG stays in one line."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # C is faster and may be absent
    def ignore_aliases(self, data: Any) -> bool:
        """Children share parts of their job's template; in a manifest that is nobody's business."""
        return True


def _text(dumper: Any, text: str) -> Any:
    """In quotes where bare it would be something else to kubectl, such as `y` or `1e3`; a program as its lines."""
    if "\n" in text:
        style: str | None = "|"
    else:
        style = None if isinstance(scalars.meaning(text), str) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _text)


def dump(manifests: Iterable[dict[str, Any]]) -> str:
    return "---\n".join(
        yaml.dump(item, Dumper=_Dumper, sort_keys=False, width=_UNFOLDED, allow_unicode=True)
        for item in manifests
    )
