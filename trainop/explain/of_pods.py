"""Causes that keep a pod from starting: no place for it, no image, something it refers to is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trainop import template
from trainop.engine import labels, quantity
from trainop.engine.roster import State
from trainop.explain.evidence import Container, Evidence
from trainop.explain.findings import Finding, alike, kubectl
from trainop.explain.members import FEW, Row, named, rows

NO_IMAGE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
NO_CONTAINER = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "StartError",
        "ContainerCannotRun",
    }
)
NO_VOLUME = ("FailedMount", "FailedAttachVolume")
WHY_NO_IMAGE = (
    (r"not found|manifest unknown|does not exist", "the registry has no such image: check its name and tag"),
    (
        r"unauthorized|denied|forbidden|401|403|authentication required",
        "the registry does not let the node in: name a secret for it in imagePullSecrets",
    ),
    (
        r"no such host|timeout|refused|unreachable|i/o|TLS|x509",
        "the node cannot reach the registry: check its name and the network",
    ),
    (r"Invalid|couldn't parse", "the name of the image cannot be read: correct it"),
)
WHY_NO_PLACE = (
    (r"Insufficient ([\w./-]+)", "not enough {}", "ask for less {}, or add nodes that have it"),
    (
        r"untolerated taint\(?s?\)? \{([^}]*)\}",
        "the taint {} that it does not tolerate",
        "add a toleration of {} to the pod template",
    ),
    (
        r"(didn't match Pod's node affinity/selector)",
        "no node that its nodeSelector or affinity allows",
        "correct nodeSelector or affinity, or label a node",
    ),
    (
        r"persistentvolumeclaim \"([^\"]+)\" not found",
        "the PersistentVolumeClaim {} that is not there",
        "make the claim {}, or correct its name",
    ),
    (
        r"(unbound immediate PersistentVolumeClaims)",
        "a PersistentVolumeClaim that has no volume yet",
        "see what the claim waits for: kubectl describe pvc",
    ),
    (r"(Too many pods)", "nodes that have as many pods as they take", "add nodes"),
    (r"(unschedulable)", "nodes that are closed for new pods", "kubectl uncordon NODE"),
)


WHY_NO_CONTAINER = (
    (
        r"configmap \"([^\"]+)\" not found",
        "the ConfigMap {} is not there",
        "make the ConfigMap {}, or correct its name",
    ),
    (
        r"secret \"([^\"]+)\" not found",
        "the Secret {} is not there",
        "make the Secret {}, or correct its name",
    ),
    (
        r"couldn't find key (\S+) in (\w+) (\S+)",
        "{1} {2} has no key {0}",
        "add the key {0}, or correct its name",
    ),
    (r"exec: \"([^\"]+)\"", "its command {} cannot be executed", "correct the command {}, or the image"),
)
STARTING = ("ContainerCreating", "PodInitializing", "waiting")


def unschedulable(evidence: Evidence) -> Iterator[Finding]:
    found = []
    for row in rows(evidence):
        placed = row.pod.condition("PodScheduled") if row.pod and row.state is State.WAITING else None
        if placed and placed.status == "False" and placed.reason == "Unschedulable":
            found.append((placed.message, row))
    for message, members in alike(found).items():
        yield _no_place(evidence, message, members)


def _no_place(evidence: Evidence, told: str, members: list[Row]) -> Finding:
    whys, then = [], []
    for pattern, why, remedy in WHY_NO_PLACE:
        for thing in _things(pattern, told):
            whys.append(why.format(thing))
            then.append(remedy.format(thing))
    because = f": there is {' and '.join(whys)}" if whys else ""
    message = f"no node takes {named(members)}{because}."
    lines = (told, *_requests(members[0]), *_largest(evidence, told))
    return Finding("Unschedulable", message, lines, (*then, *_afterwards(evidence, members)))


def _things(pattern: str, told: str) -> list[str]:
    """What a scheduler says of preemption is no cause of its own."""
    found = re.findall(pattern, told.partition("preemption:")[0])
    return list(dict.fromkeys(thing.rstrip(".: ") for thing in found))


def _largest(evidence: Evidence, told: str) -> Iterator[str]:
    """What the best node has of a resource that is short, whoever uses it now."""
    for resource in _things(WHY_NO_PLACE[0][0], told) if evidence.nodes else ():
        there = {it.metadata.name: it.status.allocatable.get(resource, "0") for it in evidence.nodes}
        best = max(there, key=lambda name: (quantity.parse(there[name]) or quantity.NOTHING).value)
        yield f"of {len(there)} nodes {best} has the most {resource}: {there[best]}"


def _requests(row: Row) -> Iterator[str]:
    for container in row.pod.spec.containers if row.pod else ():
        asked = ", ".join(f"{name} {amount}" for name, amount in template.requests(container).items())
        if asked:
            yield f"{row.name}, container {container['name']}, asks for {asked}"


def _waiting(evidence: Evidence, reasons: frozenset[str]) -> Iterator[tuple[Row, Container, str, str]]:
    """Each member's first container that waits for one of these reasons, with reason and message."""
    for row in rows(evidence):
        for container in row.pod.containers if row.pod and row.state is not State.GOING else ():
            waits, ended = container.state.waiting, container.state.terminated
            if waits and waits.reason in reasons:
                yield row, container, waits.reason, waits.message
                break
            if ended and ended.reason in reasons:
                yield row, container, ended.reason, ended.message
                break


def no_image(evidence: Evidence) -> Iterator[Finding]:
    found = []
    for row, container, reason, message in _waiting(evidence, NO_IMAGE):
        # The kubelet tells why once, and then only that it waits before the next try.
        telling = [
            it.message for it in evidence.about(row.pod_name, "Failed") if "pull" in it.message.lower()
        ]
        detail = telling[0] if telling and reason == "ImagePullBackOff" else message
        found.append(((_image(row, container), reason, detail), row))
    for (image, reason, detail), members in alike(found).items():
        why = next((why for pattern, why in WHY_NO_IMAGE if re.search(pattern, detail, re.IGNORECASE)), "")
        message = f"the image {image} of {named(members)} cannot be pulled."
        then = (*filter(None, (why,)), *_afterwards(evidence, members))
        yield Finding("ImagePull", message, (f"{reason}: {detail}",), then)


def _image(row: Row, container: Container) -> str:
    """As it is written in the pod: the kubelet may have written it out in full."""
    written: tuple[dict[str, Any], ...] = row.pod.spec.containers if row.pod else ()
    own = next((it for it in written if it.get("name") == container.name), {})
    return str(own.get("image") or container.image)


def no_container(evidence: Evidence) -> Iterator[Finding]:
    found = [((c.name, reason, told), row) for row, c, reason, told in _waiting(evidence, NO_CONTAINER)]
    for (container, reason, told), members in alike(found).items():
        why, then = "the node cannot make it", "mend what the node says"
        for pattern, cause, remedy in WHY_NO_CONTAINER:
            if match := re.search(pattern, told):
                why, then = cause.format(*match.groups()), remedy.format(*match.groups())
                break
        message = f"container {container} of {named(members)} cannot start: {why}."
        steps = (then, *_afterwards(evidence, members))
        yield Finding("ContainerCannotStart", message, (f"{reason}: {told}",), steps)


def no_volume(evidence: Evidence) -> Iterator[Finding]:
    found = []
    for row in rows(evidence):
        if row.pod and row.word in STARTING and row.pod.spec.node_name:
            found += [(it.message, row) for it in list(evidence.about(row.pod.name, *NO_VOLUME))[:1]]
    for told, members in alike(found).items():
        volume = re.search(r"volume \"([^\"]+)\"", told)
        which = f"volume {volume[1]}" if volume else "a volume"
        message = f"{named(members)} cannot start: {which} cannot be mounted."
        then = "mend what the node says of the volume, or correct the pod template"
        yield Finding("VolumeMount", message, (told,), (then, *_afterwards(evidence, members)))


def _afterwards(evidence: Evidence, members: list[Row]) -> tuple[str, ...]:
    """After an edit of the job the operator makes them anew, unless another one made them: it cannot know of what."""
    look = kubectl(evidence, "describe", "pod", members[0].pod_name)
    foreign = [
        row.pod.name for row in members if row.pod and labels.TEMPLATE not in row.pod.metadata.annotations
    ]
    if not foreign:
        return (look, "a change of the job is enough: the operator makes such pods anew")
    whole = ("-l", f"{labels.JOB_NAME}={evidence.job.name}", "--field-selector=status.phase=Pending")
    return (
        look,
        "after a change of the job, delete what another operator has made before it:",
        kubectl(evidence, "delete", "pod", *(foreign if len(foreign) <= FEW + 1 else whole)),
    )
