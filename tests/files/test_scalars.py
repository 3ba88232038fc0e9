"""What a bare word means: the same as for kubectl."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from trainop.files.documents import documents
from trainop.files.scalars import meaning

MEANINGS: dict[str, Any] = {
    **dict.fromkeys(["~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["true", "True", "TRUE", "yes", "Yes", "on", "ON", "y", "Y"], True),
    **dict.fromkeys(["false", "no", "NO", "off", "Off", "n", "N"], False),
    "0": 0,
    "-1": -1,
    "+1": 1,
    "1_000": 1000,
    "0x1F": 31,
    "0o17": 15,
    "017": 15,
    "0b101": 5,
    "1.0": 1,
    "1e3": 1000,
    "1.5": 1.5,
    ".5": 0.5,
    "-.5": -0.5,
    "1.": 1,
    "6.02e-1": 0.602,
    "089": 89,
    **{
        word: word
        for word in ("2024-05-01", "12:30", "1.2.3", "tRue", "nUll", "0x", "1e", "-", "+", ".", "_")
    },
    **{word: word for word in ("500m", "1.5Gi", "yes please", "-x", "1e3x", "none", "Y es")},
}


@pytest.mark.parametrize("word", MEANINGS)
def test_a_bare_word(word: str) -> None:
    found = meaning(word)
    assert (type(found), found) == (type(MEANINGS[word]), MEANINGS[word])


def test_a_number_of_a_million_digits_is_text() -> None:
    assert meaning("9" * 1_000_000) == "9" * 1_000_000


def test_kubectl_reads_the_same(crds: Cluster, namespace: str) -> None:
    """Keys as well as values. A list has no null that means `not written`."""
    words = [word for word in MEANINGS if word not in ("-",)]
    lines = "\n".join([*(f"  - {word}" for word in words), "  - 'yes'", '  - "1"', "  - ''"])
    keys = "\n".join(f"  {key}: 1" for key in ("on", "1", "1.5", "0x10", "plain"))
    text = (
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: words}\n"
        f"spec:\n  keys:\n{keys.replace('  ', '    ')}\n  words:\n{lines}\n"
    )
    read = crds.run(
        *("-n", namespace, "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"),
        stdin=text,
    )
    (document,) = documents("words.yaml", text)
    assert document.flaws == ()
    assert document.value["spec"] == json.loads(read)["spec"]
