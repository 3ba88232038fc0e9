"""Files, folders and stdin as documents: split where kubectl splits them, lists of objects opened."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from trainop.errors import Usage
from trainop.files.nodes import Flaw, Place, Reading, Stand, Unreadable, below

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
LARGEST = 16 * 1024 * 1024
"""Bytes of one file."""
_SOLID = re.compile(r"\S")
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)


class Document(NamedTuple):
    """One object of a file."""

    file: str
    number: int
    """Of the document in its file, from 1."""
    value: Any
    stands: Mapping[str, Stand]
    start: Place
    flaws: tuple[Flaw, ...] = ()
    prefix: str = ""
    """The path to the object, where it is an item of a List."""


def read(paths: Iterable[str]) -> Iterator[Document]:
    """Every object in these files and, below these folders, in files with the endings of YAML and JSON."""
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        name = "<stdin>" if path == STDIN else path
        yield from documents(name, _text(path))


def documents(file: str, text: str) -> Iterator[Document]:
    """What cannot be read is a document without a value; an empty one is none."""
    number = 0
    for first_line, part in _parts(text):
        try:
            reading = Reading(part, first_line)
        except Unreadable as error:
            number += 1
            yield Document(file, number, None, {}, error.flaw.place, (error.flaw,))
            continue
        if reading.value is None and not reading.flaws:
            continue
        number += 1
        yield from _opened(
            Document(file, number, reading.value, reading.stands, reading.start, tuple(reading.flaws))
        )


def _files(path: str) -> list[str]:
    if path == STDIN or not os.path.isdir(path):  # unlike Path's it takes any text
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.endswith(ENDINGS)
    ]
    if not found:
        raise Usage(f"{path}: there is no file that ends in {', '.join(ENDINGS)}")
    return sorted(found)


def _text(path: str) -> str:
    try:
        if path == STDIN:
            content = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(LARGEST + 1)
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}; name a file, a folder, or - for stdin") from None
    if len(content) > LARGEST:
        raise Usage(f"{path}: larger than {LARGEST // 1024**2} MiB; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Usage(f"{path}: this is no text in UTF-8; name a YAML or JSON file") from None


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the number of its first line. A mistake in one leaves the others readable."""
    begins = [0, *_json_ends(text)] if text.lstrip().startswith("{") else [0]
    begins += [found.start() for found in _SEPARATOR.finditer(text, begins[-1]) if found.start()]
    line = 1
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        yield line, text[begin:end]
        line += text.count("\n", begin, end)


def _json_ends(text: str) -> Iterator[int]:
    """Objects of JSON may stand one after the other, with nothing between them."""
    decoder, end = json.JSONDecoder(), 0
    with suppress(ValueError, RecursionError):
        while solid := _SOLID.search(text, end):
            _, end = decoder.raw_decode(text, solid.start())
            yield end


def _opened(document: Document) -> Iterator[Document]:
    """`kubectl get -o yaml` writes a List of objects."""
    value = document.value
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or not str(value.get("kind", "")).endswith("List"):
        yield document
        return
    for number, item in enumerate(items):
        prefix = f"{below('items', number)}."
        start = document.stands[below("items", number)].value
        flaws = tuple(
            flaw
            for flaw in document.flaws
            if flaw.path.startswith(prefix) or (number == 0 and not flaw.path.startswith("items["))
        )
        yield document._replace(value=item, prefix=prefix, flaws=flaws, start=start)
