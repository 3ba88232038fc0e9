"""Who the members of a job are, what they are called and where they are found."""

from __future__ import annotations

from typing import Any

from trainop import template
from trainop.framework import Framework
from trainop.model import Job, Member, Topology


def topology(framework: Framework[Any], job: Job[Any], cluster_domain: str = "") -> Topology:
    suffix = f".{job.namespace}.svc" + (f".{cluster_domain}" if cluster_domain else "")
    roles = {}
    for role, replica in job.replicas.items():
        port = template.port(replica.template, framework.container, framework.port_name, framework.port)
        names = [framework.manner.child_name(job, role, index) for index in range(replica.replicas)]
        roles[role] = tuple(Member(role, i, name, name + suffix, port, name) for i, name in enumerate(names))
    return Topology(roles)


def leads(framework: Framework[Any], job: Job[Any], member: Member) -> bool:
    """Whether this is a member whose logs stand for the job's."""
    if framework.manner.chief:
        return framework.manner.chief(job) == (member.role, member.index)
    if member.role not in framework.deciding(job):
        return False
    return member.index == 0 or any(role.leads for role in framework.roles if role.name == member.role)
