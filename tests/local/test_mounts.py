"""Paths of a container, as they are on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainop.local.mounts import Mounts

MOUNTS = Mounts({"/app": Path("/home/me/src"), "/data/": Path("/mnt/d"), "/data/small": Path("/mnt/s")})


@pytest.mark.parametrize(
    ("inside", "here"),
    [
        ("/app", "/home/me/src"),
        ("/app/", "/home/me/src/"),
        ("/app/train.py", "/home/me/src/train.py"),
        ("--data=/data/x", "--data=/mnt/d/x"),
        ("/data/small/x", "/mnt/s/x"),
        ("/data/smaller", "/mnt/d/smaller"),
        ("/app:/data", "/home/me/src:/mnt/d"),
        ("cd /app && python train.py '/data'", "cd /home/me/src && python train.py '/mnt/d'"),
        ("file:///data/x", "file:///mnt/d/x"),
        ("/application", "/application"),
        ("/my/app", "/my/app"),
        ("/app.py", "/app.py"),
        ("/app-2", "/app-2"),
        ("s3://data/x", "s3://data/x"),
        ("relative/app", "relative/app"),
        ("./app", "./app"),
        ("", ""),
    ],
)
def test_a_path_below_a_mount_is_translated_and_nothing_else(inside: str, here: str) -> None:
    assert MOUNTS.translate(inside) == here


def test_what_a_mount_gives_is_not_translated_again() -> None:
    assert Mounts({"/a": Path("/b"), "/b": Path("/c")}).translate("/a /b") == "/b /c"


def test_without_mounts_nothing_changes() -> None:
    assert Mounts({}).translate("/app") == "/app"


def test_a_mount_of_the_user_stands_before_that_of_a_volume() -> None:
    both = MOUNTS.beneath({"/app": Path("/volume"), "/logs": Path("/volume/logs")})
    assert both.translate("/app /logs") == "/home/me/src /volume/logs"


def test_a_mount_covers_what_is_below_it() -> None:
    assert [MOUNTS.covers(path) for path in ("/app", "/app/x/", "/data", "/apple", "/")] == [
        True,
        True,
        True,
        False,
        False,
    ]
