"""What the cluster says against pods that have not ended: a Warning each, or one per role when they are many."""

from __future__ import annotations

from collections.abc import Iterator

from trainop.engine import labels
from trainop.engine.events import LINES
from trainop.engine.roster import Roster, State
from trainop.model import Complaint, Event, SeenPod

NOT_ENDED = (State.WAITING, State.ACTIVE)


def told(roster: Roster) -> Iterator[Event]:
    """The same in every pass, as long as it is so. That it is told once is the business of who tells it: by its
    story, as a kubelet counts the seconds to the next try in its messages."""
    alike: dict[tuple[str, str, str], list[tuple[SeenPod, Complaint]]] = {}
    for place in (*roster.places, *roster.companions):
        if place.pod and place.pod.complaints and place.state in NOT_ENDED:
            for complaint in place.pod.complaints:
                about = (place.member.role, complaint.container, complaint.reason)
                alike.setdefault(about, []).append((place.pod, complaint))
    for (role, container, _), found in alike.items():
        if len(found) <= LINES:
            yield from (_event(f"pod {pod.name}", c, f"{pod.uid} {container}") for pod, c in found)
        else:
            names = f"pods {found[0][0].name} … {found[-1][0].name} ({len(found)})"
            yield _event(names, found[0][1], f"{role} {container}")


def _event(pods: str, complaint: Complaint, story: str) -> Event:
    if not complaint.container:
        sentence = labels.POD_CONDITION
    elif complaint.exit_code is None:
        sentence = labels.CONTAINER_WAITS
    else:
        sentence = labels.CONTAINER_ENDED
    message = sentence.format(
        pods=pods, container=complaint.container, code=complaint.exit_code, message=complaint.message
    )
    return Event("Warning", complaint.reason or labels.NO_REASON, message, story)
