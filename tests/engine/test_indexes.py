"""A set of indexes as text, there and back; and whatever else may stand in a status that somebody edited."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainop.engine import indexes


@pytest.mark.parametrize(
    ("members", "text"),
    [((), ""), ((0,), "0"), ((2, 0, 1), "0-2"), ((0, 1, 2, 5), "0-2,5"), ((1, 3, 5, 6), "1,3,5-6")],
)
def test_runs_are_written_short(members: tuple[int, ...], text: str) -> None:
    assert indexes.render(members) == text


@settings(deadline=None, derandomize=True)
@given(st.frozensets(st.integers(0, 50)))
def test_what_was_written_is_read_again(members: frozenset[int]) -> None:
    assert indexes.parse(indexes.render(members), below=51) == members


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("0-9", {0, 1, 2, 3}),
        ("0-999999999", {0, 1, 2, 3}),
        ("7", set()),
        ("-1", set()),
        ("1e3", set()),
        ("3-1", set()),
        ("1,,x,2-y,3", {1, 3}),
        ("\u0663", set()),
        ("9999999999999999999999", set()),
        ("0-99999999999999999999", set()),
    ],
)
def test_what_is_no_index_below_the_limit_is_passed_over(text: str, members: set[int]) -> None:
    assert indexes.parse(text, below=4) == members


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet="0123456789,-ex "), st.integers(0, 20))
def test_any_text_gives_indexes_below_the_limit(text: str, below: int) -> None:
    assert all(0 <= index < below for index in indexes.parse(text, below))
