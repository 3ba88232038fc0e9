"""Where a kind has a manner of its own: how it is read and told, and what its children are called.

The defaults are those of the kubeflow.org/v1 kinds; a kind that was there before them says what it does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from msgspec import Struct

from trainop.api.status import JobStatus
from trainop.model import Env, Job, Reading, S

PERMANENT = frozenset({128, 139})
"""Above 127, and still nobody's bad luck: an invalid exit argument and a segmentation fault."""


def retryable(code: int, reason: str = "") -> bool:
    return code > 127 and code not in PERMANENT


def child_name(job: Job[Any], role: str, index: int) -> str:
    return f"{job.name}-{role.lower()}-{index}"


def no_labels(job: Job[Any], role: str, index: int | None) -> Env:
    return {}


class Modern(Struct, frozen=True):
    """A spec of another kind, as the framework's own kind has it."""

    spec: Mapping[str, Any]
    changed: tuple[str, ...] = ()
    """What is written or called otherwise, a sentence each."""
    lost: tuple[str, ...] = ()
    """What the job did and does no more, a sentence each."""


class Cousin(Struct, frozen=True):
    """A kind that is not served, but written in this manner."""

    prepared: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Its spec, with what it takes for granted."""
    lost: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda spec: ()
    """What only a job of this kind did, a sentence each; by the spec as it is written."""
    otherwise: tuple[str, ...] = ()
    """Sentences that are true of the manner, and not of this kind."""


@dataclass(frozen=True, kw_only=True)
class Manner(Generic[S]):
    read: Callable[[Mapping[str, Any]], Reading] | None = None
    """Of a kind that is not written in the shape of its spec model: brings an object into that shape. Its CRD takes
    whatever is written, and what is wrong is told in the status."""
    write: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """The opposite, for whoever wants to see such a job: a spec in the shape of its model, as users write it."""
    tell: Callable[[Job[S], JobStatus], dict[str, object]] = lambda job, status: status.wire()
    """The status as users of the kind read it; all of it must be there."""
    recall: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda told: told
    """What `tell` has told, or an operator before us, as it is stored for the v1 kinds."""
    columns: Env = field(default_factory=dict)
    """Of `kubectl get`, before the others: their names, and where in an object they are found."""
    child_name: Callable[[Job[S], str, int], str] = child_name
    """Of a member's pod and service: by its role and index."""
    labels: Callable[[Job[S], str, int | None], Env] = no_labels
    """What a child is labelled with beside ours: by its role and index; a companion has no index."""
    stamp: Callable[[Job[S]], Env] | None = None
    """Fields that are written into the spec before anything is made, unless they are there."""
    retryable: Callable[[int, str], bool] = retryable
    """Under `ExitCode`: whether a member that ended with this code, for this reason, is tried again."""
    chief: Callable[[Job[S]], tuple[str, int]] | None = None
    """The role and index of the one member whose end is the job's, where it is not the roles themselves that say who
    decides. All others are started again, however they end."""
    any_name: bool = False
    """A job may be called whatever Kubernetes takes, as long as its children can have their names."""
    reason: Callable[[str], str] = lambda reason: reason
    """That of an event, in the words of the kind."""
    source: str = ""
    """Who tells events; empty: the framework's controller."""
    modern: Callable[[Reading], Modern] | None = None
    """What becomes of an object that `read` has read without problems, when it is converted."""
    cousins: Mapping[str, Cousin] = field(default_factory=dict)
    """By `GROUP/VERSION KIND`: they can be converted, too."""
