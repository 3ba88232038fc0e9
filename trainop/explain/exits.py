"""What an exit code means, in words."""

from __future__ import annotations

import signal
from collections.abc import Callable

from trainop import manner
from trainop.api.spec import RestartPolicy

MEANINGS = {
    0: "it ended well",
    1: "the program failed; its last lines say why",
    2: "the program was called wrongly, or could not read its arguments",
    126: "the command is there but cannot be executed",
    127: "the command was not found in the image",
    128: "the program gave an exit code that is none",
    255: "the program failed with -1",
}
SIGNALS = {
    signal.SIGABRT: "it aborted itself, as native code does on a failed check",
    signal.SIGBUS: "it touched memory that is not there; often /dev/shm is too small",
    signal.SIGFPE: "it divided by zero",
    signal.SIGILL: "its machine code does not fit this processor",
    signal.SIGINT: "it was interrupted",
    signal.SIGKILL: "it was killed",
    signal.SIGSEGV: "it crashed in native code",
    signal.SIGTERM: "it was told to stop",
}
OUT_OF_MEMORY = "it used more memory than its limit and was killed"


def meaning(code: int, reason: str = "") -> str:
    """`reason` is what the kubelet gives beside the code."""
    if reason == "OOMKilled":
        return OUT_OF_MEMORY
    if code in MEANINGS:
        return MEANINGS[code]
    number = code - 128
    if number in signal.Signals.__members__.values():
        name = signal.Signals(number).name
        return f"{name}: {SIGNALS.get(signal.Signals(number), 'it was ended by this signal')}"
    return "the program chose this code itself"


def consequence(
    policy: RestartPolicy,
    code: int,
    retryable: Callable[[int, str], bool] = manner.retryable,
    *,
    written: bool = True,
) -> str:
    """What the restart policy makes of it; `written`: by the user, not by the kind."""
    match policy:
        case RestartPolicy.NEVER:
            then = "it is not tried again"
        case RestartPolicy.EXIT_CODE if not retryable(code, ""):
            then = "this code is permanent, so it is not tried again"
        case _:
            then = "it is tried again"
    return f"restartPolicy {policy}: {then}" if written else then
