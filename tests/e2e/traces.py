"""What a node might leave on its machine: links, rules, cgroups, mounts, settings, files and processes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.programs import Software
from tests.image.workshop import Workshop, cache

_SETTINGS = ("kernel", "net", "vm")
_RESTLESS = re.compile(
    r"/(random/|ns_last_pid|nr$|nf_conntrack_count|stat_refresh|sched_domain|perf_event_max_sample_rate)"
)
_FOLDERS = ("/", "/etc", "/etc/cni", "/etc/cni/net.d", "/opt", "/run", "/usr/lib", "/usr/libexec")
_VARIABLE = ("/var", "/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/log")
_RULES = "for family in iptables ip6tables; do /usr/sbin/xtables-nft-multi $family-save; done"
_COUNTERS = re.compile(r"\[\d+:\d+\]")
Process = tuple[int, str]
"""A number, and when it started: numbers are used again."""


def look(software: Software) -> set[str]:
    """All that is there now."""
    return {*_links(), *_rules(software), *_cgroups(), *_mounts(), *_settings(), *_files()}


def changes(before: set[str], software: Software, name: str) -> set[str]:
    """What is there now and was not, or the other way round; but nodes of another name may come and go."""
    others = re.compile(rf"trainop-node(?!{name.removeprefix('trainop-node')}\b)\d")
    return {line for line in before ^ look(software) if not others.search(line)}


def descendants(pid: int) -> set[Process]:
    """What a process has started, and they, too, wherever they are now."""
    parents = dict(_parents())
    family = {pid}
    while more := {child for child, (parent, _) in parents.items() if parent in family} - family:
        family |= more
    return {(child, parents[child][1]) for child in family - {pid}}


def alive(processes: set[Process]) -> set[Process]:
    return processes & {(pid, started) for pid, (_, started) in _parents()}


def _parents() -> Iterator[tuple[int, tuple[int, str]]]:
    """The parent and the start of each process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(folder.name), (int(fields[1]), fields[19])


def _links() -> Iterator[str]:
    for what in (["link"], ["address"], ["route", "show", "table", "all"], ["rule"], ["netns"]):
        argv = ["ip", "-o", *what]
        told = subprocess.run(argv, capture_output=True, text=True, check=True)  # noqa: S603 - no input
        # How long an address is still valid changes by itself.
        yield from (
            re.sub(r"(valid_lft|preferred_lft|expires) \w+", "", line) for line in told.stdout.splitlines()
        )


def _rules(software: Software) -> list[str]:
    told = Workshop(software.packages, cache() / "store").ask(_RULES).splitlines()
    return [_COUNTERS.sub("", line) for line in told if not line.startswith("#")]


def _cgroups() -> Iterator[str]:
    """The outermost of each hierarchy; version 2 has only one."""
    root = Path("/sys/fs/cgroup")
    pattern = "*" if (root / "cgroup.controllers").exists() else "*/*"
    yield from (str(path) for path in root.glob(pattern) if path.is_dir())


def _mounts() -> list[str]:
    """Without their numbers."""
    return [line.split(" ", 3)[3] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _settings() -> Iterator[str]:
    for area in _SETTINGS:
        for folder, _, names in os.walk(f"/proc/sys/{area}"):
            for path in (Path(folder, name) for name in names):
                if not _RESTLESS.search(str(path)) and path.stat().st_mode & 0o400:
                    try:
                        yield f"{path} = {path.read_text()}"
                    except OSError:  # some can be read only at times
                        continue


def _files() -> Iterator[str]:
    for folder in (*_FOLDERS, *_VARIABLE):
        if Path(folder).is_dir():
            yield from (str(path) for path in Path(folder).iterdir())
