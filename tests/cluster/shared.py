"""One control plane for a whole test run, started by the first test that asks for it, in whatever process.

It belongs to the process that outlives the others: the Host. With pytest-xdist that is the controller, and
each worker has a Guest that asks it.
"""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable
from multiprocessing.connection import Client, Listener
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster, ControlPlane, Refused
from tests.cluster.progress import Progress

CRDS = Path(__file__).parents[2] / "crds"
POD_GROUPS = Path(__file__).parents[1] / "data" / "podgroups.yaml"
_END_LIMIT = 5  # seconds for an answer under way when the run ends; what is still starting dies on its leash
Answer = Cluster | Exception


def named_by_user(variable: str, progress: Callable[[], Progress]) -> Cluster | None:
    """The cluster whose kubeconfig a variable names, if it is set; raises Unavailable where there is none."""
    named = os.environ.get(variable)
    if not named:
        return None
    if not Path(named).is_file():
        raise Unavailable(f"{variable} names {named}, which is no file: correct or unset it.")
    kubectl = shutil.which("kubectl")
    return Cluster(Path(named).absolute(), Path(kubectl) if kubectl else binaries.find(progress()).kubectl)


class Host:
    """Owns the control plane of a run."""

    def __init__(self, progress: Callable[[], Progress]) -> None:
        self._progress = progress
        self._answer: Answer | None = None
        self._plane: ControlPlane | None = None
        self._listener: Listener | None = None
        self._server = threading.Thread(target=self._serve, daemon=True)

    @property
    def unavailable(self) -> Unavailable | None:
        """Why tests went without a control plane, if they did."""
        return self._answer if isinstance(self._answer, Unavailable) else None

    def cluster(self) -> Cluster:
        """The cluster, started now if need be; raises Unavailable where it cannot be had."""
        return _unwrapped(self._ask())

    def address(self) -> str:
        """Where a Guest reaches this host."""
        if self._listener is None:
            self._listener = Listener(family="AF_UNIX", backlog=128)
            self._server.start()
        return str(self._listener.address)

    def close(self) -> None:
        """Stop what was started."""
        if self._listener is not None:
            with Client(self._listener.address) as host:
                host.send("end")
            self._server.join(_END_LIMIT)
            self._listener.close()
        if self._plane is not None:
            self._plane.stop()

    def _ask(self) -> Answer:
        if self._answer is None:
            try:
                self._answer = self._start()
            except (Unavailable, Refused) as error:
                self._answer = error
            except Exception as error:
                self._answer = RuntimeError(repr(error))  # any other may not survive the way to a guest
        return self._answer

    def _start(self) -> Cluster:
        named = named_by_user("TRAINOP_TEST_KUBECONFIG", self._progress)
        if named:
            return named
        plane = ControlPlane(binaries.find(self._progress()), crds=CRDS)
        cluster = plane.start()
        self._plane = plane
        return cluster

    def _serve(self) -> None:
        assert self._listener is not None
        while True:
            with contextlib.suppress(OSError, EOFError), self._listener.accept() as guest:  # guests may die
                if guest.recv() == "end":
                    return
                guest.send(self._ask())


class Guest:
    """Asks the host of its run."""

    def __init__(self, address: str) -> None:
        self._address = address

    def cluster(self) -> Cluster:
        """The run's cluster; raises what kept the host from having one."""
        with Client(self._address) as host:
            host.send("cluster")
            answer: Answer = host.recv()
        return _unwrapped(answer)


def _unwrapped(answer: Answer) -> Cluster:
    if isinstance(answer, Exception):
        raise answer
    return answer
