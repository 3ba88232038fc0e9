"""The work queue: fairness, one pass at a time, wake-ups and retries."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from trainop.model import GVK, Key
from trainop.operator.queue import GATHER, SLOWEST_RETRY, WorkQueue

KIND = GVK("kubeflow.org", "v1", "TFJob")


def key(name: str, namespace: str = "a") -> Key:
    return Key(KIND, namespace, name)


async def drained(queue: WorkQueue) -> list[Key]:
    taken = []
    while len(queue):
        taken.append(await queue.get())
    return taken


async def test_a_key_woken_many_times_is_handed_out_once() -> None:
    queue = WorkQueue()
    for _ in range(3):
        queue.add(key("j"))
    assert await drained(queue) == [key("j")]


async def test_namespaces_take_turns_so_a_thousand_jobs_do_not_delay_one() -> None:
    queue = WorkQueue()
    for number in range(1000):
        queue.add(key(f"j{number}", "busy"))
    queue.add(key("one", "quiet"))
    first = [await queue.get() for _ in range(2)]
    assert first == [key("j0", "busy"), key("one", "quiet")]


async def test_a_key_woken_while_it_is_worked_on_waits_and_then_comes_again() -> None:
    queue = WorkQueue()
    queue.add(key("j"))
    taken = await queue.get()
    queue.add(taken)
    assert len(queue) == 0
    queue.done(taken)
    assert await queue.get() == taken


async def test_news_of_members_that_come_together_are_one_pass() -> None:
    queue = WorkQueue()
    for _ in range(3):
        queue.add_soon(key("j"))
    assert len(queue) == 0
    assert not queue.idle
    taken = await asyncio.wait_for(queue.get(), 30)
    queue.done(taken)
    assert taken == key("j")
    assert queue.idle


async def test_news_of_members_that_come_in_the_middle_of_a_pass_are_gathered_after_it() -> None:
    queue = WorkQueue()
    queue.add(key("j"))
    taken = await queue.get()
    queue.add_soon(taken)
    queue.done(taken)
    assert len(queue) == 0
    assert await asyncio.wait_for(queue.get(), 30) == taken
    queue.done(taken)
    assert queue.idle


async def test_who_is_woken_while_news_gather_does_not_wait_for_them() -> None:
    queue = WorkQueue()
    queue.add_soon(key("j"))
    queue.add(key("j"))
    assert await drained(queue) == [key("j")]
    queue.done(key("j"))
    queue.add_after(key("other"), 5 * GATHER)
    assert await asyncio.wait_for(queue.get(), 30) == key("other"), "the news were in that pass already"


async def test_what_the_server_asked_for_holds_for_news_of_members_too() -> None:
    queue = WorkQueue()
    queue.retry(key("j"), at_least=3600)
    queue.add_soon(key("j"))
    assert queue.idle
    queue.forget(key("j"))


async def test_news_of_a_job_that_goes_meanwhile_are_forgotten() -> None:
    queue = WorkQueue()
    queue.add_soon(key("j"))
    queue.forget(key("j"))
    assert queue.idle
    queue.add_after(key("other"), 5 * GATHER)
    assert await asyncio.wait_for(queue.get(), 30) == key("other")


async def test_a_wake_up_comes_by_itself() -> None:
    queue = WorkQueue()
    queue.add_after(key("j"), 0.01)
    assert await asyncio.wait_for(queue.get(), 30) == key("j")


async def test_the_last_word_about_a_wake_up_counts() -> None:
    queue = WorkQueue()
    queue.add_after(key("j"), 0.01)
    queue.add_after(key("j"), 3600)
    queue.add_after(key("other"), 0.05)
    assert await asyncio.wait_for(queue.get(), 30) == key("other")


async def test_retries_come_slower_and_slower_up_to_a_limit_and_start_anew_after_success() -> None:
    queue = WorkQueue()
    waits = [queue.retry(key("j")) for _ in range(20)]
    assert waits[0] < 0.2
    assert all(later > sooner for sooner, later in pairwise(waits[:5]))
    assert max(waits) <= SLOWEST_RETRY * 1.2
    queue.succeeded(key("j"))
    assert queue.retry(key("j")) < 0.2
    queue.forget(key("j"))


async def test_the_server_may_ask_for_more_patience() -> None:
    queue = WorkQueue()
    assert queue.retry(key("j"), at_least=7.0) == 7.0
    queue.forget(key("j"))


async def test_what_the_server_asked_for_holds_whoever_wakes_the_job_meanwhile() -> None:
    queue = WorkQueue()
    queue.add(key("j"))
    taken = await queue.get()
    queue.add(taken)
    queue.retry(taken, at_least=0.05)
    queue.done(taken)
    queue.add(taken)
    assert queue.idle
    assert await asyncio.wait_for(queue.get(), 30) == taken


async def test_without_that_a_wake_up_brings_a_job_back_before_its_retry() -> None:
    queue = WorkQueue()
    queue.retry(key("j"))
    queue.add(key("j"))
    assert await asyncio.wait_for(queue.get(), 30) == key("j")
    queue.forget(key("j"))


async def test_a_job_that_is_gone_is_forgotten() -> None:
    queue = WorkQueue()
    queue.add_after(key("j"), 0.01)
    queue.forget(key("j"))
    queue.add_after(key("other"), 0.05)
    assert await asyncio.wait_for(queue.get(), 30) == key("other")


async def test_one_namespace_gets_no_more_than_its_share_of_the_workers() -> None:
    queue = WorkQueue(share=2)
    for number in range(5):
        queue.add(key(f"j{number}", "busy"))
    taken = [await queue.get() for _ in range(2)]
    third = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not third.done()
    queue.add(key("one", "quiet"))
    assert await third == key("one", "quiet")
    queue.done(taken[0])
    assert await queue.get() == key("j2", "busy")


async def test_rest_comes_when_nothing_that_was_handed_out_is_worked_on() -> None:
    queue = WorkQueue()
    await queue.rest()
    queue.add(key("j"))
    queue.add(key("later"))
    taken = await queue.get()
    resting = asyncio.create_task(queue.rest())
    await asyncio.sleep(0)
    assert not resting.done()
    queue.done(taken)
    await resting


async def test_each_key_wakes_one_of_those_who_wait() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add(key("j"))
    queue.add(key("k"))
    assert {await worker for worker in workers[:2]} == {key("j"), key("k")}
    assert not workers[2].done()
    workers[2].cancel()


async def test_who_is_cancelled_when_called_leaves_the_key_to_the_next() -> None:
    queue = WorkQueue()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add(key("j"))
    first.cancel()
    assert await asyncio.wait_for(second, 30) == key("j")
