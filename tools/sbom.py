"""Prints the software bill of materials of an installed trainop, as CycloneDX JSON.

What counts is what is installed: trainop, and what it requires, directly or through others. `--path` names
the folders to look in (repeatable); default: where this Python finds its modules.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "trainop"
EXTRAS = ("fast",)
"""Those of trainop that the lock file has."""
_NAMESPACE = uuid.UUID("9cd92f3f-6237-47b4-bec3-7388a8ecf4b3")  # ours, at random; makes serial numbers stable

Graph = dict[str, list[str]]
"""Who requires whom, by name."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.sbom", description=__doc__)
    parser.add_argument("--path", action="append", help="a folder that holds installed packages")
    found = _installed(parser.parse_args(argv).path or sys.path)
    try:
        graph = _required(found)
    except KeyError as missing:
        print(f"sbom: {missing.args[0]} is required and not installed", file=sys.stderr)  # noqa: T201 - to a person
        return 1
    print(json.dumps(_document(found, graph), indent=2, ensure_ascii=False))  # noqa: T201 - what it is for
    return 0


def _installed(folders: Sequence[str]) -> dict[str, Distribution]:
    """By name; of two of the same name the first in the path counts, as it does for an import."""
    by_name: dict[str, Distribution] = {}
    for found in distributions(path=list(folders)):
        by_name.setdefault(canonicalize_name(found.name), found)
    return by_name


def _required(found: dict[str, Distribution]) -> Graph:
    """From the root to everything that is reached from it; raises KeyError with the name of what is missing."""
    graph: Graph = {}
    open_: list[tuple[str, frozenset[str]]] = [(ROOT, frozenset(EXTRAS))]
    seen = set(open_)
    while open_:
        name, extras = open_.pop()
        wanted = list(_wanted(found[name], extras))
        graph[name] = sorted({*graph.get(name, []), *(who for who, _ in wanted)})
        open_ += (new := [want for want in wanted if want not in seen])
        seen.update(new)
    return graph


def _wanted(who: Distribution, extras: Iterable[str]) -> Iterable[tuple[str, frozenset[str]]]:
    """What it requires here, on this Python and system, with these extras."""
    for line in who.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def _document(found: dict[str, Distribution], graph: Graph) -> dict[str, Any]:
    """The same text for the same packages; only SOURCE_DATE_EPOCH gives it a date."""
    components = [_component(found[name], "library") for name in sorted(graph) if name != ROOT]
    metadata: dict[str, Any] = {"component": _component(found[ROOT], "application")}
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        metadata["timestamp"] = datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    contents = "\n".join(_purl(found[name]) for name in sorted(graph))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, contents)}",
        "version": 1,
        "metadata": metadata,
        "components": components,
        "dependencies": [
            {"ref": _purl(found[name]), "dependsOn": [_purl(found[other]) for other in graph[name]]}
            for name in sorted(graph)
        ],
    }


def _component(who: Distribution, kind: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": _purl(who),
        "name": who.name,
        "version": who.version,
        "purl": _purl(who),
    }
    if summary := _told(who, "Summary"):
        component["description"] = summary
    if licenses := _licenses(who):
        component["licenses"] = licenses
    return component


def _licenses(who: Distribution) -> list[dict[str, Any]]:
    """An SPDX expression where there is one, else the name the authors give it."""
    if expression := _told(who, "License-Expression"):
        return [{"expression": expression}]
    classifiers = who.metadata.get_all("Classifier") or ()
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    text = _told(who, "License")
    if not named and text and "\n" not in text:  # some put the whole licence there
        named = [text]
    return [{"license": {"name": name}} for name in named]


def _told(who: Distribution, field: str) -> str:
    values: list[str] = who.metadata.get_all(field) or [""]
    return values[0]


def _purl(who: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(who.name)}@{who.version}"


if __name__ == "__main__":
    sys.exit(main())
