"""What an API server answers when it does not do what it was asked, as an error of ours."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from trainop.errors import ApiError, Conflict, Exists, Gone, Refused, Unreachable

UNDECODABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""All that a decoder raises when it is given garbage."""


class Details(Struct, frozen=True, rename="camel"):
    retry_after_seconds: float | None = None


class Status(Struct, frozen=True):
    """The object that Kubernetes puts into such an answer. Its message is written for people."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


_decode = msgspec.json.Decoder(Status).decode


def failure(request: str, code: int, body: bytes, retry_after: str = "") -> ApiError:
    """`retry_after` is the header; what the body says counts when there is none."""
    try:
        status = _decode(body)
    except UNDECODABLE:
        status = Status()
    return told(request, status, code=code, retry_after=retry_after)


def told(request: str, status: Status, *, code: int = 0, retry_after: str = "") -> ApiError:
    code = code or status.code
    return _kind(code, status.reason)(
        status.message or f"the API server answered {code} to {request}",
        code=code,
        reason=status.reason,
        retry_after=_seconds(retry_after, status),
    )


def _kind(code: int, reason: str) -> type[ApiError]:
    match code:
        case 404 | 410:
            return Gone
        case 409:
            return Exists if reason == "AlreadyExists" else Conflict
        case 401 | 408 | 429:
            return Unreachable
        case _:
            return Refused if 400 <= code < 500 else Unreachable


def _seconds(header: str, status: Status) -> float | None:
    if header.isdecimal():
        return float(header)
    return status.details.retry_after_seconds if status.details else None
