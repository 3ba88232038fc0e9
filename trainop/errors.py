"""Every error trainop raises on purpose.

TrainopError
├── Usage                 the command line, a file or a set-up is wrong; a person has to change it
│   ├── BrokenFramework   an installed framework module cannot be used
│   └── NotThere          no job is called what somebody wrote
└── Temporary             try again later; nothing is lost
    ├── Stuck             the cluster refuses an object the job needs; the job says so in `Blocked`
    ├── Deposed           another operator may be leading: this one must not write
    └── ApiError          the API server said no, or did not answer
        ├── Gone          404: the object is not there (any more)
        ├── Exists        409 on create: an object of that name is there
        ├── Conflict      409 on write: the object changed since it was read
        ├── Refused       403 or 422: this object will not be taken as it is
        └── Unreachable   no answer, 429 or 5xx: whether it was done is not known
"""

from __future__ import annotations

from traceback import extract_tb


class TrainopError(Exception):
    """The message is one sentence for a person."""


class Usage(TrainopError):
    pass


class BrokenFramework(Usage):
    pass


class NotThere(Usage):
    pass


class Temporary(TrainopError):
    pass


class Stuck(Temporary):
    pass


class Deposed(Temporary):
    pass


class ApiError(Temporary):
    def __init__(
        self, message: str, *, code: int = 0, reason: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


class Gone(ApiError):
    pass


class Exists(ApiError):
    pass


class Conflict(ApiError):
    pass


class Refused(ApiError):
    pass


class Unreachable(ApiError):
    pass


def in_short(error: BaseException) -> str:
    """One that nobody raised on purpose: what it is, and the line in which it came up."""
    frames = extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
