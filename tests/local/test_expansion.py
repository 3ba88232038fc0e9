"""Variables in commands: the table of Kubernetes."""

from __future__ import annotations

import pytest

from trainop.local.expansion import expand, expand_in_order

KNOWN = {"A": "1", "B": "two", "EMPTY": "", "DOLLAR": "$(A)"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1ytwoz"),
        ("$(EMPTY)", ""),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$", "$"),
        ("$A ${A}", "$A ${A}"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("$(DOLLAR)", "$(A)"),
        ("$", "$"),
    ],
)
def test_a_reference_is_replaced_once_and_a_doubled_dollar_keeps_it(written: str, meant: str) -> None:
    assert expand(written, KNOWN) == meant


def test_a_value_may_name_those_before_it_and_not_those_after() -> None:
    entries = [("A", "$(B)"), ("B", "b"), ("C", "$(B)$(A)"), ("B", "$(B)b")]
    assert expand_in_order(entries) == {"A": "$(B)", "B": "bb", "C": "b$(B)"}
