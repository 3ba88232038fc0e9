"""Somebody at a terminal, the commands they type, and what they are allowed to."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.chart.rights import kubeconfig_of
from tests.cluster.controlplane import Cluster
from tests.scenarios.stage import PATIENCE
from trainop import cli
from trainop.kube.port import Raw


class Watching:
    """A command that is still running."""

    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdout
        assert process.stderr
        self._out, self._err = process.stdout, process.stderr

    async def line(self) -> str:
        """The next one it prints."""
        async with asyncio.timeout(PATIENCE):
            return (await self._out.readline()).decode().rstrip("\n")

    async def said(self) -> str:
        """The next line on stderr."""
        async with asyncio.timeout(PATIENCE):
            return (await self._err.readline()).decode().rstrip("\n")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    async def ends(self) -> tuple[int, list[str]]:
        """Its exit code, and what it still had to say."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self._process.communicate()
        assert b"Traceback" not in err, err.decode()
        return self._process.returncode or 0, out.decode().splitlines()


def _all_of(terminal: FileIO) -> bytes:
    shown = b""
    try:
        while chunk := terminal.read(65_536):
            shown += chunk
    except OSError:
        pass  # nobody has the other end any more
    return shown


@dataclass(frozen=True)
class Person:
    kubeconfig: Path
    namespace: str

    async def says(self, *words: str, code: int = 0) -> Result:
        """`trainop WORDS`, as typed by somebody who works in that namespace; it ends with that code."""
        return await self._run([*words, "-n", self.namespace], code)

    async def asks(self, *words: str, code: int = 0) -> Any:
        """What the answer is in JSON."""
        return json.loads((await self.says(*words, "-o", "json", code=code)).stdout)

    async def explains(self, what: str) -> Raw:
        """The first finding."""
        answer: Raw = (await self.asks("explain", what))["findings"][0]
        return answer

    @asynccontextmanager
    async def watching(self, *words: str) -> AsyncIterator[Watching]:
        """The command as a process of its own, which goes on while the test does."""
        argv = [words[0], "--kubeconfig", str(self.kubeconfig), "-n", self.namespace, *words[1:]]
        program = Path(sys.executable).with_name("trainop")
        process = await asyncio.create_subprocess_exec(program, *argv, stdout=PIPE, stderr=PIPE)
        try:
            yield Watching(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def at_a_terminal(self, *words: str, **env: str) -> str:
        """What a terminal of 80 columns has got from the command when it has ended."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        argv = [words[0], "--kubeconfig", str(self.kubeconfig), "-n", self.namespace, *words[1:]]
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("trainop"),
            *argv,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm-256color"} | env,
        )
        os.close(theirs)
        with FileIO(ours) as terminal:
            async with asyncio.timeout(PATIENCE):
                shown = await asyncio.to_thread(_all_of, terminal)
                assert await process.wait() == 0
        return shown.decode()

    async def _run(self, words: list[str], code: int) -> Result:
        # In a thread: a command has an event loop of its own.
        argv = [words[0], "--kubeconfig", str(self.kubeconfig), *words[1:]]
        result = await asyncio.to_thread(CliRunner().invoke, cli.main, argv)
        assert isinstance(result.exception, SystemExit | None), result.exception
        assert result.exit_code == code, result.output
        return result


def reader(crds: Cluster, namespace: str, folder: Path) -> Path:
    """A kubeconfig of somebody who may look at jobs and pods there, and at nothing else."""
    crds.run("create", "serviceaccount", "reader", "-n", namespace)
    words = ("--verb=get,list", "--resource=pods,tfjobs.kubeflow.org,mxjobs.kubeflow.org")
    crds.run("create", "role", "reader", "-n", namespace, *words)
    who = f"--serviceaccount={namespace}:reader"
    crds.run("create", "rolebinding", "reader", "-n", namespace, "--role=reader", who)
    return kubeconfig_of(crds, "reader", namespace, folder)
