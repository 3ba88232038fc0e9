"""Finding the job that somebody means: by its kind and name, or by its name alone among all kinds."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trainop.errors import Gone, NotThere, Refused, Usage
from trainop.framework import Framework
from trainop.kube.cluster import resource
from trainop.kube.port import Api, Raw

Known = Mapping[Any, Framework[Any]]


class Wanted(NamedTuple):
    name: str
    kind: str = ""
    """As somebody wrote it: `tfjob`, `tfjobs`, `tfj`; empty: any."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.kind else self.name


class Found(NamedTuple):
    framework: Framework[Any]
    raw: Raw

    @property
    def title(self) -> str:
        return f"{self.framework.kind} {self.raw['metadata']['namespace']}/{self.raw['metadata']['name']}"

    @property
    def uid(self) -> str:
        return str(self.raw["metadata"]["uid"])


def serving(known: Known, word: str) -> list[Framework[Any]]:
    """The frameworks whose kind is called so; all of them for an empty word."""
    kinds = list(known.values())
    found = [kind for kind in kinds if not word or word.lower() in _names(kind)]
    if not found:
        there = ", ".join(kind.kind for kind in kinds if not kind.older)
        raise Usage(f"no job kind is called {word}; there are: {there}")
    return found


def _names(framework: Framework[Any]) -> set[str]:
    plain = {framework.kind.lower(), framework.plural}
    return {*plain, *framework.short_names, *(f"{name}.{framework.group}" for name in plain)}


async def find(api: Api, known: Known, namespace: str, wanted: Wanted) -> Found:
    """The one job that is meant. NotThere: there is none. Usage: there are several."""
    kinds = serving(known, wanted.kind)
    asked = await asyncio.gather(*(_one(api, kind, namespace, wanted.name) for kind in kinds))
    found = [it for it in asked if isinstance(it, Found)]
    if len(found) > 1:
        alike = len({it.framework.kind.lower() for it in found}) < len(found)
        names = " and ".join(_short(it, with_group=alike) for it in found)
        raise Usage(f"several jobs are called {wanted.name} in namespace {namespace}: say {names}")
    if found:
        return found[0]
    for kind, it in zip(kinds, asked, strict=True):
        if isinstance(it, Refused) and (len(kinds) == 1 or not kind.older):
            raise it
    raise NotThere(await _not_there(api, kinds, namespace, wanted))


async def every(api: Api, kinds: Iterable[Framework[Any]], namespace: str | None) -> list[Found]:
    """All jobs of these kinds; a kind that is not installed has none."""
    listed = await asyncio.gather(*(_all(api, kind, namespace) for kind in kinds))
    return [it for found in listed for it in found]


async def _one(api: Api, kind: Framework[Any], namespace: str, name: str) -> Found | Refused | None:
    try:
        return Found(kind, await api.get(resource(kind), namespace, name, dict))
    except Gone:
        return None
    except Refused as error:
        return error


async def _all(api: Api, kind: Framework[Any], namespace: str | None) -> list[Found]:
    try:
        return [Found(kind, raw) for raw in (await api.list(resource(kind), dict, namespace=namespace)).items]
    except Gone:
        return []
    except Refused:
        # Who may not see jobs of older kinds has most likely none.
        if kind.older:
            return []
        raise


async def _not_there(api: Api, kinds: list[Framework[Any]], namespace: str, wanted: Wanted) -> str:
    sentence = f"no job is called {wanted} in namespace {namespace}"
    try:
        there = {it.raw["metadata"]["name"]: _short(it) for it in await every(api, kinds, namespace)}
    except Refused:
        return sentence
    near = [there[name] for name in difflib.get_close_matches(wanted.name, there, n=3)]
    if near:
        return f"{sentence}: did you mean {' or '.join(near)}?"
    return f"{sentence}: `trainop status -A` lists those there are"


def _short(found: Found, *, with_group: bool = False) -> str:
    kind = found.framework.kind.lower() + (f".{found.framework.group}" if with_group else "")
    return f"{kind}/{found.raw['metadata']['name']}"
