"""A framework from outside: a conductor and singers. The concert is a success when every singer has sung."""

from __future__ import annotations

from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import Bootstrap, Framework, Role
from trainop.model import Job, Topology


class ConcertSpec(JobSpec):
    """A concert."""

    replica_specs: dict[str, ReplicaSpec] = Field(
        alias="choir", min_length=1, description="The roles Singer and Conductor, in any letter case."
    )
    encore: bool = Field(False, strict=True, description="Whether there is one.")


def bootstrap(job: Job[ConcertSpec], topology: Topology) -> Bootstrap:
    choir = ",".join(f"{member.address}:{member.port}" for member in topology.roles.get("Singer", ()))
    encore = "yes" if job.spec.encore else "no"
    return lambda me: {"CHOIR": choir, "VOICE": f"{me.role.lower()}-{me.index}", "ENCORE": encore}


FRAMEWORK = Framework(
    name="choir",
    kind="Concert",
    plural="concerts",
    group="music.example.com",
    version="v1alpha1",
    spec=ConcertSpec,
    roles=(Role("Conductor"), Role("Singer", decides=1)),
    container="voice",
    port_name="voice-port",
    port=4400,
    bootstrap=bootstrap,
)
