"""A node as far as logs go: the kubelet's side of `kubectl logs`, on loopback, for pods that nobody runs."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cluster.controlplane import Cluster

Line = tuple[str, str]
"""When, and what."""


class Node:
    """A pod is known by namespace and name: a test that has one replaced says so with `forget`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []
        """What the API server has asked for."""
        self._news = threading.Condition()
        self._logs: dict[tuple[str, str], list[list[Line]]] = {}
        """Of each pod, one log for each start."""
        self._over: set[tuple[str, str]] = set()
        self._clock = datetime.now(UTC)

    def write(self, namespace: str, pod: str, *lines: str, ago: float = 0) -> None:
        """Each line a little later than the one before."""
        with self._news:
            for line in lines:
                self._clock = max(self._clock + timedelta(microseconds=1), datetime.now(UTC))
                time = (self._clock - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
                self._logs.setdefault((namespace, pod), [[]])[-1].append((time, line))
            self._news.notify_all()

    def end(self, namespace: str, pod: str) -> None:
        """Its container has ended: so does whoever follows it."""
        with self._news:
            self._over.add((namespace, pod))
            self._news.notify_all()

    def restart(self, namespace: str, pod: str) -> None:
        """Its container has ended and runs again."""
        self.end(namespace, pod)
        with self._news:
            self._logs.setdefault((namespace, pod), [[]]).append([])
            self._over.discard((namespace, pod))
            self._news.notify_all()

    def forget(self, namespace: str, pod: str) -> None:
        """The pod is gone; another may get its name."""
        self.end(namespace, pod)
        with self._news:
            self._logs.pop((namespace, pod), None)
            self._over.discard((namespace, pod))

    def bind(self, cluster: Cluster, namespace: str, pod: str) -> None:
        """What a scheduler does: the API server asks this node for the pod's log from now on."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.name},
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/binding"
        cluster.run("create", "--raw", path, "-f", "-", stdin=json.dumps(body))

    def told(self, place: tuple[str, str], query: dict[str, str]) -> Iterator[str] | None:
        """The lines that are asked for, one by one; None: there is no such log."""
        with self._news:
            starts = self._logs.get(place, [[]])
            number = len(starts) - (2 if query.get("previous") == "true" else 1)
            if number < 0:
                return None
            log = starts[number]
        return self._following(place, log, query)

    def _following(self, place: tuple[str, str], log: list[Line], query: dict[str, str]) -> Iterator[str]:
        with self._news:
            known = [line for line in log if line[0] >= _since(query)]
            ready = known[len(known) - int(query["tailLines"]) :] if "tailLines" in query else known
            done = len(log)
        yield from (_shown(line, query) for line in ready)
        while query.get("follow") == "true":
            with self._news:
                current = self._logs.get(place, [[]])[-1] is log
                if len(log) == done and (not current or place in self._over):
                    return
                if len(log) == done:
                    self._news.wait(0.5)
                fresh, done = log[done:], len(log)
            yield from (_shown(line, query) for line in fresh)


def _since(query: dict[str, str]) -> str:
    if "sinceSeconds" in query:
        since = datetime.now(UTC) - timedelta(seconds=int(query["sinceSeconds"]))
        return since.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return query.get("sinceTime", "")[:19]


def _shown(line: Line, query: dict[str, str]) -> str:
    return f"{line[0]} {line[1]}\n" if query.get("timestamps") == "true" else f"{line[1]}\n"


def _handler(node: Node) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            node.asked.append(self.path)
            _, what, namespace, pod, _ = url.path.split("/")
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            lines = node.told((namespace, pod), query) if what == "containerLogs" else None
            self.send_response(404 if lines is None else 200)
            self.end_headers()
            try:
                for line in lines or ():
                    self.wfile.write(line.encode())
                    self.wfile.flush()
            except OSError:
                return  # nobody listens any more

        def log_message(self, *_: Any) -> None:
            """A test says what it has to say itself."""

    return Handler


@contextmanager
def joined(cluster: Cluster) -> Iterator[Node]:
    """A node in the cluster, until the block is left. Only for a cluster of our own: another cannot reach us."""
    certificates = cluster.kubeconfig.parent / "certificates"
    if cluster.audit is None:
        pytest.skip("the API server of somebody else's cluster cannot ask this machine for logs")
    node = Node(f"node-{secrets.token_hex(4)}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(node))
    server.daemon_threads = True
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
    # The handshake belongs to the thread of its connection, not to the one that accepts all of them.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_address[1]}},
    }
    body = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}})
    cluster.run("create", "-f", "-", stdin=body)
    words = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    cluster.run("patch", "node", node.name, *words)
    try:
        yield node
    finally:
        cluster.run("delete", "node", node.name)
        server.shutdown()
        server.server_close()
        thread.join()
