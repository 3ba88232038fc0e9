"""Kubernetes quantities: what apimachinery's resource.Quantity reads, adds and prints."""

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainop.engine import quantity
from trainop.engine.quantity import NOTHING, Quantity


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        *((0, "0"), ("0", "0"), ("0Gi", "0"), ("-0", "0")),
        *((4, "4"), ("1000", "1k"), (1500, "1500"), ("100k", "100k"), ("1000M", "1G"), ("3E", "3E")),
        *(("500m", "500m"), ("1000m", "1"), ("0.5", "500m"), (".5", "500m"), ("1.", "1"), ("+2", "2")),
        *(("1500u", "1500u"), ("2000n", "2u"), ("-1500m", "-1500m")),
        *(("1Gi", "1Gi"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("1000Ki", "1000Ki"), ("0.5Ki", "512")),
        *(("1e3", "1k"), ("1E3", "1k"), ("5e-1", "500m"), ("1E", "1E"), ("12e6", "12M")),
        ("0.1n", "1n"),  # nothing finer than a nano exists: rounded up, so that something stays something
        ("1.1Ki", "1126400m"),
    ],
)
def test_what_is_written_is_printed_canonically(written: object, printed: str) -> None:
    assert quantity.canonical(written) == printed
    assert quantity.canonical(printed) == printed


@pytest.mark.parametrize(
    "written",
    ["", "many", "1 Gi", "1gi", "1Kib", "Gi", "1e", "1e999999999", "--1", "9" * 5000, None, True, [1]],
)
def test_what_is_no_quantity_stays_as_it_is(written: object) -> None:
    assert quantity.parse(written) is None
    assert quantity.canonical(written) == str(written)


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        (["500m", "1"], "1500m"),
        (["1Gi", "512Mi"], "1536Mi"),
        (["1Gi", "1G"], "2073741824"),
        (["1G", "1Gi"], "2073741824"),
        (["1Gi", "1024Mi", "2Gi"], "4Gi"),
        (["0", "1Gi"], "1Gi"),
        (["100m"] * 10, "1"),
    ],
)
def test_a_sum_is_exact_and_written_as_its_first_part(parts: list[str], total: str) -> None:
    assert str(reduce(Quantity.plus, map(read, parts), NOTHING)) == total


def test_times_is_plus_again_and_again() -> None:
    assert str(NOTHING.plus(read("300Mi"), 1000)) == "300000Mi"


WRITTEN = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(0, 10**6) | st.decimals(0, 1000, places=3),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3"]),
)


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(WRITTEN, max_size=8))
def test_printing_a_sum_and_reading_it_again_loses_nothing(parts: list[str]) -> None:
    total = reduce(Quantity.plus, map(read, parts), NOTHING)
    assert total.value == sum((read(part).value for part in parts), Fraction(0))
    assert read(str(total)).value == total.value


def read(written: str) -> Quantity:
    found = quantity.parse(written)
    assert found is not None
    return found
