"""Which wheels are fetched for a base image whose Python is not the one that runs the tests."""

from __future__ import annotations

from tests.image import base

LOCK = """\
always==1 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
fits==2 ; python_full_version < '3.12' \\
    --hash=sha256:bb
other==3 ; python_full_version >= '3.12' \\
    --hash=sha256:cc
"""
FOR_3_11 = """\
always==1 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
fits==2 \\
    --hash=sha256:bb"""


def test_what_a_lock_file_has_for_another_python_is_left_out() -> None:
    assert base.for_the_base(LOCK) == FOR_3_11
