"""One process of a container, with all that it starts: a group of its own, and a mark in the environment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from trainop.local import warden
from trainop.local.recipe import Recipe

NOT_FOUND, NOT_RUNNABLE = 127, 126
LOOKS, BETWEEN_LOOKS = 100, 0.02
"""How often, and after how many seconds, it is looked whether what was killed is gone: the port may be wanted."""


class CannotStart(Exception):
    """The message says why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Process:
    def __init__(self, running: asyncio.subprocess.Process, mark: str, pid_file: Path) -> None:
        self._running, self._mark, self._pid_file = running, mark, pid_file
        pid_file.write_text(f"{running.pid}\n")

    @property
    def pid(self) -> int:
        return self._running.pid

    async def wait(self) -> int:
        """The exit code, as a shell tells it. What the process leaves behind ends with it, as in a container."""
        code = await self._running.wait()
        warden.signal_group(self.pid, signal.SIGKILL)
        for _ in range(LOOKS):
            if not warden.kill_marked(self._mark):
                break
            await asyncio.sleep(BETWEEN_LOOKS)
        self._pid_file.unlink(missing_ok=True)
        return 128 - code if code < 0 else code

    def terminate(self) -> None:
        warden.signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        warden.signal_group(self.pid, signal.SIGKILL)
        warden.kill_marked(self._mark)


async def start(recipe: Recipe, mark: str, log: Path, pid_file: Path) -> Process:
    """Raises CannotStart; its message is in the log, too."""
    with log.open("ab") as output:
        try:
            running = await asyncio.create_subprocess_exec(
                *recipe.argv,
                cwd=recipe.folder,
                env=_with_mark(recipe.env, mark),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a null character in a word
            message = f"{recipe.argv[0]} cannot be started: {_reason(error, recipe)}"
            output.write(f"trainop: {message}\n".encode())
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
            raise CannotStart(code, message) from error
    return Process(running, mark, pid_file)


def _reason(error: Exception, recipe: Recipe) -> str:
    if not isinstance(error, OSError):
        return str(error)
    if not Path(recipe.folder).is_dir():
        return f"its folder {recipe.folder} is not there"
    return "not found" if isinstance(error, FileNotFoundError) else str(error.strerror)


def _with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    outer = os.environ.get(warden.MARK, "")
    return {**env, warden.MARK: f"{outer} {mark}".strip()}
