"""From files to documents: where each value stands, what YAML does not allow, and that nothing takes forever."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from trainop.errors import Usage
from trainop.files import documents as reading
from trainop.files.documents import Document, documents, read
from trainop.files.nodes import DEEPEST


def only(text: str) -> Document:
    (document,) = documents("job.yaml", text)
    return document


def flaws(text: str) -> list[tuple[int, int, str, str]]:
    return [(*flaw.place, flaw.path, flaw.message) for d in documents("f", text) for flaw in d.flaws]


# --- places -------------------------------------------------------------------------------------------------


def test_a_field_stands_where_its_key_and_its_value_are() -> None:
    stands = only("spec:\n  replicas: 2\n  roles:\n    - name: a\n    - b\n").stands
    assert stands["spec.replicas"].key == (2, 3)
    assert stands["spec.replicas"].value == (2, 13)
    assert stands["spec.roles[0].name"].value == (4, 13)
    assert stands["spec.roles[1]"].value == (5, 7)
    assert stands["spec.replicas"].short
    assert not stands["spec.roles"].short


def test_lines_are_those_of_the_file_in_every_document() -> None:
    second = list(documents("f", "a: 1\n---\n# comment\nb: 2\n---\nc: 3\n"))
    assert [d.number for d in second] == [1, 2, 3]
    assert [d.stands[key].key.line for d, key in zip(second, "abc", strict=True)] == [1, 4, 6]


def test_what_an_alias_repeats_stands_where_it_is_written() -> None:
    document = only("a: &x\n  b: 1\nc: *x\n")
    assert document.value == {"a": {"b": 1}, "c": {"b": 1}}
    assert document.stands["c.b"].value == (2, 6)


# --- YAML ---------------------------------------------------------------------------------------------------


def test_merge_keys_yield_to_what_is_written() -> None:
    document = only("base: &b {a: 1, b: 2}\none:\n  b: 3\n  <<: *b\nlist:\n  <<: [*b, {c: 4, a: 5}]\n")
    assert document.value["one"] == {"a": 1, "b": 3}
    assert document.value["list"] == {"a": 1, "b": 2, "c": 4}
    assert document.flaws == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "path", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "a", "twice, first in line 1"),
        ("a:\n  b: 1\n  b: 1\n", 3, 3, "a.b", "twice, first in line 2"),
        ("a: !!python/object:os.system x\n", 1, 4, "a", "the tag !!python/object:os.system means nothing"),
        ("a: !mine x\n", 1, 4, "a", "the tag !mine means nothing"),
        ("? [a, b]\n: 1\n", 1, 3, "", "a key must be a single word"),
        ("~: 1\n", 1, 1, "", "a key is empty"),
        ("a:\n  <<: 1\n", 2, 7, "a.<<", "only a mapping"),
        ("a: [1\n", 2, 1, "", "this is no YAML"),
        ("a: b: c\n", 1, 5, "", "this is no YAML"),
        ("a:\n\tb: 1\n", 2, 1, "", "this is no YAML"),
        ("a: 1\n...\nb: 2\n", 3, 1, "", "this is no YAML"),
        ("a: *nobody\n", 1, 4, "", "this is no YAML"),
        ("ok: 1\nbell: \a\n", 2, 7, "", "the character '\\x07' has no place in YAML"),
    ],
)
def test_what_yaml_or_kubectl_does_not_take_is_told_with_its_place(
    text: str, line: int, column: int, path: str, words: str
) -> None:
    ((found_line, found_column, found_path, message),) = flaws(text)
    assert (found_line, found_column, found_path) == (line, column, path)
    assert words in message


def test_who_indents_by_tabs_is_told_so() -> None:
    ((flaw,),) = [d.flaws for d in documents("f", "a:\n\tb: 1\n")]
    assert flaw.hint == "indent by spaces: YAML does not take tabs"


def test_a_mistake_in_one_document_leaves_the_others_readable() -> None:
    found = list(documents("f", "a: [\n---\nb: 2\n"))
    assert [bool(d.flaws) for d in found] == [True, False]
    assert found[1].value == {"b": 2}


def test_empty_documents_are_none() -> None:
    assert [d.value for d in documents("f", "---\n# nothing\n---\n\n---\na: 1\n---\n")] == [{"a": 1}]
    assert list(documents("f", "")) == []


def test_a_separator_is_a_line_of_its_own_or_begins_one() -> None:
    assert [d.value for d in documents("f", "a: |\n  ---\n  b\n--- {c: 1}\n")] == [
        {"a": "---\nb\n"},
        {"c": 1},
    ]


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_is_read_too(indent: Any) -> None:
    value = {
        "a": [1, 1.5, True, None, "t\tab", "\u00e9\u4e2d", "\U0001f600", "\\ud83d\\ude00"],
        "b": {"c": "12:30", "d": "yes"},
    }
    assert only(json.dumps(value, indent=indent)).value == value


def test_objects_of_json_may_stand_one_after_the_other() -> None:
    found = list(documents("f", '{"a": 1}\n{"a":\n 2}{"a": "}{"}\n---\n{"a": 4}\n'))
    assert [d.value for d in found] == [{"a": 1}, {"a": 2}, {"a": "}{"}, {"a": 4}]
    assert [d.stands["a"].value.line for d in found] == [1, 3, 3, 5]


def test_yaml_may_begin_with_a_brace_too() -> None:
    assert [d.value for d in documents("f", "{a: 1}\n---\n{b: 2}\n")] == [{"a": 1}, {"b": 2}]


def test_a_list_is_opened() -> None:
    text = "kind: List\napiVersion: v1\nitems:\n  - kind: A\n  - kind: B\n    x: 1\n    x: 2\n"
    first, second = documents("f", text)
    assert (first.value, second.value) == ({"kind": "A"}, {"kind": "B", "x": 1})
    assert second.stands[f"{second.prefix}kind"].value == (5, 11)
    assert [flaw.path for flaw in second.flaws] == ["items[1].x"]
    assert first.flaws == ()


# --- what is meant to hurt ----------------------------------------------------------------------------------

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5_000))


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        CHAIN,
        "a: &a [*a]\n",
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        "a: [" + "x, " * 500_000 + "]",
    ],
    ids=["bomb", "chain", "circle", "brackets", "braces", "dashes", "deep", "long"],
)
def test_what_would_take_forever_is_refused_at_once(text: str) -> None:
    ((_, _, _, message),) = flaws(text)
    assert "too much for a job" in message


def test_as_deep_as_is_allowed_is_read() -> None:
    assert only("[" * DEEPEST + "]" * DEEPEST).flaws == ()


# --- files --------------------------------------------------------------------------------------------------


def test_a_folder_is_read_with_all_below_it_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "sub/c.json", "sub/notes.txt", "d.yaml.bak"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"a": 1}')
    files = [Path(d.file).relative_to(tmp_path) for d in read([str(tmp_path)])]
    assert [str(file) for file in files] == ["a.yml", "b.yaml", "sub/c.json"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1")
    assert len(list(read([str(path), str(path)]))) == 1


def test_stdin_is_a_file_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfa: 1\n")))
    (document,) = read(["-"])
    assert (document.file, document.value) == ("<stdin>", {"a": 1})


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file"), (b"\xff\xfe\x00", "no text in UTF-8"), (b"a" * 2_000, "larger than")],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, words: str
) -> None:
    monkeypatch.setattr(reading, "LARGEST", 1_000)
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Usage, match=words) as refusal:
        list(read([str(path)]))
    assert str(path) in str(refusal.value)


def test_a_folder_without_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(Usage, match=r"no file that ends in \.yaml, \.yml, \.json"):
        list(read([str(tmp_path)]))
