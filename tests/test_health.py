"""When a probe says that the process should be restarted: the part that a clock decides."""

from __future__ import annotations

from trainop.kube.memory import Memory
from trainop.operator.controller import Controller
from trainop.operator.health import LONGEST_LAG, LONGEST_SILENCE, Pulse, complaints
from trainop.operator.lease import USUAL, Lease
from trainop.registry import frameworks


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_process_is_well_until_its_loop_lags_a_stream_is_silent_or_its_lease_cannot_be_renewed() -> (
    None
):
    clock, api = Clock(), Memory()
    pulse, lease = Pulse(clock), Lease(api, "default", "trainop", "me")
    controller = Controller(api, frameworks())

    def told() -> list[str]:
        return list(complaints(controller, pulse, lease))

    async with controller.running():
        assert told() == []
        clock.now += LONGEST_LAG + 1
        assert told() == ["the event loop is 6 s late"]
        pulse = Pulse(clock)
        for watch in controller.watches():
            watch.last_heard -= LONGEST_SILENCE + 1
            assert told() == [f"nothing was heard of {watch.where} for 301 s"]
            watch.last_heard += LONGEST_SILENCE
        lease.last_heard -= USUAL.duration + 21
        assert told() == ["the lease default/trainop could be neither read nor renewed for 36 s"]
