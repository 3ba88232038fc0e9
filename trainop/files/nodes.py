"""YAML as values, and where in the text each of them stands; what YAML itself does not allow on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trainop.files import scalars

DEEPEST = 100
"""Levels. A pod template has about fifteen."""
MOST_VALUES = 200_000
"""In one document, counted as often as aliases repeat them. An API server takes no object that large."""
TOO_MUCH = f"too much for a job: more than {MOST_VALUES} values or {DEEPEST} levels, counted with aliases written out"
_BARE = "bare word"
_TAGS = "tag:yaml.org,2002:"
_TABS_TO_SPACES = str.maketrans("\t", " ")
_HALVES = re.compile(
    r"(?<!\\)(?P<before>(?:\\\\)*)\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # C is faster and may be absent
    """Leaves the meaning of bare words to us."""


_Loader.yaml_implicit_resolvers = {None: [(_BARE, re.compile(""))]}


class Place(NamedTuple):
    line: int
    column: int


class Flaw(NamedTuple):
    """Something that cannot be read, or not in one way only."""

    place: Place
    path: str
    message: str
    hint: str = ""


class Stand(NamedTuple):
    """Where a field stands."""

    key: Place
    value: Place
    short: bool
    """The value is a single word: one points at that, else at the key."""


class _Size(NamedTuple):
    values: int
    levels: int


class Unreadable(Exception):
    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.message)
        self.flaw = flaw


def below(path: str, step: str | int) -> str:
    """`spec`, `Worker` → `spec.Worker`; `containers`, 0 → `containers[0]`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def around(path: str) -> str:
    """`containers[0]` → `containers` → ``."""
    return path[: max(path.rfind("."), path.rfind("["), 0)]


class Reading:
    """One document. `value` is what it says, `stands` where each field is, `flaws` what is wrong with the YAML."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        """Raises Unreadable where nothing can be made of it."""
        self._first = first_line
        self.stands: dict[str, Stand] = {}
        self.flaws: list[Flaw] = []
        node = self._compose(text)
        self.start = Place(first_line, 1) if node is None else self._at(node)
        self.value = None if node is None else self._value(node, "")

    def _compose(self, text: str) -> Node | None:
        if text.lstrip().startswith("{"):
            text = _yaml(text)
        try:
            self._measure(text)
            found: Node | None = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self._place(mark.line, mark.column) if mark else Place(self._first, 1)
            raise Unreadable(Flaw(place, "", _sentence(error), _advice(text, error))) from None
        except yaml.YAMLError:
            raise Unreadable(self._control_character(text)) from None
        if found:
            self._count(found, {})
        return found

    def _measure(self, text: str) -> None:
        """Before anything is made of it: who composes nodes goes as deep as they are nested."""
        depth = 0
        for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEEPEST or number > 2 * MOST_VALUES:
                place = self._place(event.start_mark.line, event.start_mark.column)
                raise Unreadable(Flaw(place, "", TOO_MUCH))

    def _count(self, node: Node, known: dict[int, _Size]) -> _Size:
        """How much there is when every alias stands for itself."""
        if id(node) not in known:
            known[id(node)] = _Size(MOST_VALUES, DEEPEST)  # for now: what contains itself has no end
            sizes = [self._count(child, known) for child in _children(node)]
            deepest = max((size.levels for size in sizes), default=0)
            known[id(node)] = _Size(1 + sum(size.values for size in sizes), 1 + deepest)
        if known[id(node)].values > MOST_VALUES or known[id(node)].levels > DEEPEST:
            raise Unreadable(Flaw(self._at(node), "", TOO_MUCH))
        return known[id(node)]

    def _control_character(self, text: str) -> Flaw:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        before = text[: found.start()] if found else ""
        place = self._place(before.count("\n"), len(before) - before.rfind("\n") - 1)
        what = f"the character {found[0]!r}" if found else "something"
        return Flaw(place, "", f"{what} has no place in YAML", "is this a text file?")

    def _value(self, node: Node, path: str) -> Any:
        match node:
            case MappingNode():
                return self._mapping(node, path)
            case SequenceNode():
                return [self._item(item, below(path, number)) for number, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _item(self, node: Node, path: str) -> Any:
        self.stands[path] = Stand(self._at(node), self._at(node), isinstance(node, ScalarNode))
        return self._value(node, path)

    def _mapping(self, node: MappingNode, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node, own in self._pairs(node, path):
            key = self._key(key_node, path)
            where = below(path, key)
            if key not in found:
                short = isinstance(value_node, ScalarNode)
                self.stands[where] = Stand(self._at(key_node), self._at(value_node), short)
                found[key] = self._value(value_node, where)
            elif own:
                first = self.stands[where].key.line
                message = f"is there twice, first in line {first}: only one of them can count"
                self.flaws.append(Flaw(self._at(key_node), where, message, "remove one of them"))
        return found

    def _pairs(self, node: MappingNode, path: str) -> Iterator[tuple[Node, Node, bool]]:
        """What stands there itself, then what `<<` adds: that yields to what is there."""
        merged: list[Node] = []
        for key, value in node.value:
            if key.tag == _BARE and key.value == "<<":
                merged += value.value if isinstance(value, SequenceNode) else [value]
            else:
                yield key, value, True
        for other in merged:
            if isinstance(other, MappingNode):
                yield from ((key, value, False) for key, value, _ in self._pairs(other, path))
            else:
                message = "only a mapping, or a list of them, can be merged"
                self.flaws.append(Flaw(self._at(other), below(path, "<<"), message))

    def _key(self, node: Node, path: str) -> str:
        """JSON has nothing but text there: `on: x` is `"true": x`."""
        if not isinstance(node, ScalarNode):
            self.flaws.append(Flaw(self._at(node), path, "a key must be a single word"))
            return "?"
        key = self._scalar(node, path)
        if key is None:
            self.flaws.append(
                Flaw(self._at(node), path, "a key is empty", "write its name, or remove the line")
            )
        return str(key).lower() if isinstance(key, bool) else str(key)

    def _scalar(self, node: Node, path: str) -> scalars.Scalar:
        if node.tag == _BARE:
            return scalars.meaning(node.value)
        kind = node.tag.removeprefix(_TAGS)
        if kind in ("null", "bool", "int", "float"):
            return scalars.meaning(node.value)
        if kind != "str":
            message = f"the tag {node.tag.replace(_TAGS, '!!')} means nothing to Kubernetes"
            self.flaws.append(Flaw(self._at(node), path, message, "remove it"))
        return str(node.value)

    def _at(self, node: Node) -> Place:
        return self._place(node.start_mark.line, node.start_mark.column)

    def _place(self, line: int, column: int) -> Place:
        return Place(self._first + line, column + 1)


def _yaml(json: str) -> str:
    """JSON is YAML but for two things: it may be indented by tabs, which do not stand in its strings, and writes
    characters beyond 16 bits in two halves."""
    return _HALVES.sub(_whole, json.translate(_TABS_TO_SPACES))


def _whole(found: re.Match[str]) -> str:
    high, low = int(found["high"], 16), int(found["low"], 16)
    return f"{found['before']}\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"


def _children(node: Node) -> Iterator[Node]:
    match node:
        case MappingNode():
            yield from (child for pair in node.value for child in pair)
        case SequenceNode():
            yield from node.value


def _sentence(error: yaml.MarkedYAMLError) -> str:
    context = f"{error.context}: " if error.context else ""
    return f"this is no YAML: {context}{error.problem or 'it cannot be read'}"


def _advice(text: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    lines = text.splitlines()
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent by spaces: YAML does not take tabs"
    if "mapping values are not allowed" in str(error.problem):
        return "put text that has ': ' in it in quotes, and check the indentation"
    return "check the indentation, brackets and quotes here and in the line above"
