"""A framework to begin with: the files that `trainop new-framework` writes."""

from __future__ import annotations

from string import Template
from typing import NamedTuple

MODULE = '''\
"""What $name needs from the engine: roles, and what each member is told of the others."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import Bootstrap, Framework, Role
from trainop.model import Env, Job, Member, Topology


class ${kind}Spec(JobSpec):
    """A distributed training with $name."""

    replica_specs: Mapping[str, ReplicaSpec] = Field(
        alias="${name}ReplicaSpecs",
        min_length=1,
        description="The roles Leader and Worker, in any letter case.",
    )


def bootstrap(job: Job[${kind}Spec], topology: Topology) -> Bootstrap:
    """Where the first member is, how many there are, and which of them one is."""
    members = list(topology)
    ranks = {member.name: rank for rank, member in enumerate(members)}

    def env(me: Member) -> Env:
        return {
            "${upper}_FIRST": f"{members[0].address}:{members[0].port}",
            "${upper}_SIZE": str(len(members)),
            "${upper}_RANK": str(ranks[me.name]),
        }

    return env


FRAMEWORK = Framework(
    name="$name",
    kind="$kind",
    plural="$plural",
    group="$group",
    spec=${kind}Spec,
    # Who has the lowest rank of those that a job has decides how it ends.
    roles=(Role("Leader", decides=1), Role("Worker", decides=2)),
    container="$name",
    port_name="job-port",
    port=7000,
    bootstrap=bootstrap,
)
'''

EXAMPLE = """\
# Three members that meet: the first one waits for a word of each of the others.
apiVersion: $group/v1
kind: $kind
metadata:
  name: hello
spec:
  ${name}ReplicaSpecs:
    Leader:
      template: &member
        spec:
          containers:
            - name: $name
              image: python:3.12-slim
              command: [python3, -c]
              args:
                - |
                  import os, socket, time
                  first, size, rank = (os.environ["${upper}_" + name] for name in ("FIRST", "SIZE", "RANK"))
                  host, _, port = first.rpartition(":")
                  if rank == "0":
                      with socket.create_server(("", int(port))) as server:
                          for _ in range(int(size) - 1):
                              print(server.accept()[0].recv(100).decode(), flush=True)
                  else:
                      while True:
                          try:
                              socket.create_connection((host, int(port))).sendall(f"rank {rank} is here".encode())
                              break
                          except OSError:
                              time.sleep(0.2)
    Worker:
      replicas: 2
      template: *member
"""

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "trainop-$name"
version = "0.1.0"
description = "$kind of $group, for trainop."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["trainop"]

[project.entry-points."trainop.frameworks"]
$name = "trainop_$name:FRAMEWORK"

[tool.setuptools]
packages = ["trainop_$name"]

[tool.setuptools.package-data]
trainop_$name = ["example.yaml"]
"""

README = """\
# trainop-$name

`$kind` of `$group/v1` for trainop: installed beside it, it is one of its frameworks.

```
pip install .
trainop check-framework $name
trainop run trainop_$name/example.yaml
trainop crds --framework $name | kubectl apply -f -
```
"""


class Names(NamedTuple):
    """How everything is called."""

    name: str
    kind: str
    group: str

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"

    def fill(self, text: str) -> str:
        words = {"upper": self.name.upper(), "plural": self.plural, **self._asdict()}
        return Template(text).substitute(words)


def folder(names: Names) -> dict[str, str]:
    """Paths and what stands there: a folder as those in frameworks/."""
    return {f"{names.name}/{path}": names.fill(text) for path, text in _MODULE.items()}


def project(names: Names) -> dict[str, str]:
    """The same as a project that pip can install."""
    top, module = f"trainop-{names.name}", f"trainop_{names.name}"
    files = {"pyproject.toml": PROJECT, "README.md": README}
    files |= {f"{module}/{path}": text for path, text in _MODULE.items()}
    return {f"{top}/{path}": names.fill(text) for path, text in files.items()}


_MODULE = {"__init__.py": MODULE, "example.yaml": EXAMPLE}
