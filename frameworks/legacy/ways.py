"""What jobs of 2017 did alike: an id in the names of their children, and which exit codes were tried again."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from trainop.model import Job

INVALID = "invalid job spec: {problems}"
SOURCE = "kubeflow"
COLUMNS = {"Kind": ".kind", "ApiVersion": ".apiVersion"}
"""kubectl of then showed both in one: `TfJob.v1alpha1.tensorflow.org`."""
NO_UID = "xxxx"
"""In place of a RuntimeId, where a job has no UID yet that it could be made of."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def runtime_id(job: Job[Any]) -> str:
    """Made of the UID, so that no crash can change it."""
    if job.spec.runtime_id or not job.uid:
        return job.spec.runtime_id or NO_UID
    number, text = int.from_bytes(sha256(job.uid.encode()).digest()[:8]), ""
    for _ in NO_UID:
        number, digit = divmod(number, len(_DIGITS))
        text += _DIGITS[digit]
    return text


def stamp(job: Job[Any]) -> dict[str, str]:
    return {} if job.spec.runtime_id or not job.uid else {"RuntimeId": runtime_id(job)}


def retryable(code: int, reason: str) -> bool:
    """Who needs more memory than there is will need it the next time, too."""
    return code >= 128 and reason != "OOMKilled"


def reason(of_event: str) -> str:
    """Made or not made was all that events told of a child: its name says what it is."""
    return next(
        (word for word in ("SuccessfulCreate", "FailedCreate") if of_event.startswith(word)), of_event
    )
