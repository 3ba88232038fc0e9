"""When a probe says that the process should be restarted: the part that a clock decides."""

from __future__ import annotations

from trainop.kube.memory import Memory
from trainop.operator.controller import Controller
from trainop.operator.health import LONGEST_LAG, LONGEST_SILENCE, SLOWEST_RESTART, Hearing, Pulse, complaints
from trainop.operator.lease import USUAL, Lease
from trainop.registry import frameworks


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_watch_on_jobs_that_fails_is_begun_anew_slower_and_slower() -> None:
    hearing = Hearing(Clock())
    assert [hearing.failed(0.1) for _ in range(7)] == [1, 2, 4, 8, 16, SLOWEST_RESTART, SLOWEST_RESTART]


def test_a_watch_that_had_held_begins_anew_at_once() -> None:
    hearing = Hearing(Clock())
    for _ in range(5):
        hearing.failed(0.1)
    assert hearing.failed(SLOWEST_RESTART + 1) == 1


def test_one_failure_after_a_long_time_is_no_deafness() -> None:
    clock = Clock()
    hearing = Hearing(clock)
    hearing.failed(lasted=3600)
    assert hearing.deaf_for == 0
    clock.now += 3600
    assert hearing.deaf_for == 0


def test_a_watch_that_fails_again_and_again_makes_the_process_deaf() -> None:
    clock = Clock()
    hearing = Hearing(clock)
    while hearing.deaf_for <= LONGEST_SILENCE:
        clock.now += hearing.failed(0.1)
        assert clock.now < 2000
    clock.now += 2 * SLOWEST_RESTART
    assert hearing.deaf_for == 0, "it has held since"


async def test_a_process_is_well_until_its_loop_lags_a_stream_is_silent_or_its_lease_cannot_be_renewed() -> (
    None
):
    clock, api = Clock(), Memory()
    pulse, hearing, lease = Pulse(clock), Hearing(clock), Lease(api, "default", "trainop", "me")
    controller = Controller(api, frameworks())

    def told() -> list[str]:
        return list(complaints(controller, pulse, hearing, lease))

    async with controller.running():
        assert told() == []
        clock.now += LONGEST_LAG + 1
        assert told() == ["the event loop is 6 s late"]
        pulse = Pulse(clock)
        cache = next(controller.caches())
        cache.last_heard -= LONGEST_SILENCE + 1
        assert told() == ["nothing was heard of pods for 301 s"]
        cache.last_heard += LONGEST_SILENCE
        lease.last_heard -= USUAL.duration + 21
        assert told() == ["the lease default/trainop could be neither read nor renewed for 36 s"]
