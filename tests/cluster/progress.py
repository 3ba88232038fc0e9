"""Tells a person what goes on during work that takes minutes."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator


class Progress:
    """Steps are lines; the seconds since the step began overwrite themselves on a terminal."""

    def __init__(self, write: Callable[[str], object], *, terminal: bool) -> None:
        self._write = write
        self._terminal = terminal
        self.pause: float = 1 if terminal else 15
        """Seconds between two heartbeats."""

    def step(self, text: str) -> None:
        self._line(f"==> {text}", end="\n")

    def beat(self, seconds: float) -> None:
        self._line(f"    ... {seconds:.0f} s", end="" if self._terminal else "\n")

    def done(self, text: str) -> None:
        self._line(f"    {text}", end="\n")

    @contextlib.contextmanager
    def part(self, text: str) -> Iterator[None]:
        """A step with heartbeats of its own, and what it took."""
        began, over = time.monotonic(), threading.Event()

        def beat() -> None:
            while not over.wait(self.pause):
                self.beat(time.monotonic() - began)

        self.step(text)
        beats = threading.Thread(target=beat, daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join()
        self.done(f"done in {time.monotonic() - began:.1f} s")

    def _line(self, text: str, *, end: str) -> None:
        over_the_heartbeat = "\r\x1b[K" if self._terminal else ""
        self._write(over_the_heartbeat + text + end)


def on_stderr() -> Progress:
    """The progress of a command at the command line."""

    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    return Progress(write, terminal=sys.stderr.isatty())
