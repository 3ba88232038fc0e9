"""Whether what somebody waits for has come, may still come, or cannot come any more; and the waiting itself."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Awaitable
from typing import NamedTuple

import click

from trainop.api.status import ConditionType
from trainop.cli import view
from trainop.cli.following import looks
from trainop.cli.options import Where
from trainop.cli.subject import in_cluster, opened
from trainop.errors import NotThere, Usage
from trainop.explain.evidence import Evidence
from trainop.kube import facts

GOALS = ("succeeded", "failed", "finished", "running", "deleted")


class Verdict(NamedTuple):
    reached: bool
    sentence: str


def goal_of(text: str) -> str:
    """One of the goals, or the type of a condition."""
    word, _, type_ = text.partition("=")
    if word.lower() in GOALS and not type_:
        return word.lower()
    known: dict[str, str] = {it.lower(): str(it) for it in ConditionType}
    if word == "condition" and type_.lower() in known:
        return known[type_.lower()]
    wanted = type_ if word == "condition" else word
    near = difflib.get_close_matches(wanted.lower(), known if word == "condition" else GOALS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(GOALS)} and condition=TYPE"
    raise Usage(f"--for {text}: nobody can wait for that: {hint}")


def judge(goal: str, evidence: Evidence | None, title: str) -> Verdict | None:
    """None: it may still come."""
    if evidence is None:
        return Verdict(goal == "deleted", f"{title} was deleted")
    status = evidence.job.status
    succeeded, failed = status.is_true("Succeeded"), status.is_true("Failed")
    ended = f"{title} has {'succeeded' if succeeded else 'failed'}"
    match goal:
        case "deleted":
            return None
        case "succeeded" | "failed" | "finished":
            reached = (succeeded and goal != "failed") or (failed and goal != "succeeded")
        case "running":
            reached = succeeded or status.is_true("Running")
        case type_:
            reached = status.is_true(type_)
    if reached:
        return Verdict(True, ended if succeeded or failed else f"{title} is {goal.lower()}")
    return Verdict(False, f"{ended}: it will not be {goal.lower()} any more") if status.finished else None


async def wait(job: str, goal: str, timeout: float | None, where: Where, output: str) -> int:  # noqa: ASYNC109 - ours
    meant, wanted = in_cluster(job), goal_of(goal)
    try:
        async with opened(where, meant) as (api, found):
            seen = looks(lambda: facts.look(api, found))
            verdict = await _in_time(_until(wanted, seen, found.title), timeout)
    except NotThere:
        if wanted != "deleted":
            raise
        verdict = Verdict(True, f"there is no {job}")
    verdict = verdict or Verdict(False, f"the time is over, and {job} is not {wanted.lower()}")
    if output == "json":
        click.echo(
            json.dumps({"job": job, "for": goal, "reached": verdict.reached, "message": verdict.sentence})
        )
    else:
        click.echo(verdict.sentence, err=not verdict.reached)
    return 0 if verdict.reached else 1


async def _until(goal: str, seen: AsyncIterator[Evidence | None], title: str) -> Verdict:
    told = ""
    async for evidence in seen:
        if evidence and (news := view.summary(evidence)) != told:
            told = news
            click.echo(news, err=True)
        if verdict := judge(goal, evidence, title):
            return verdict
    return Verdict(False, f"{title} was deleted")


async def _in_time(waiting: Awaitable[Verdict], limit: float | None) -> Verdict | None:
    try:
        async with asyncio.timeout(limit):
            return await waiting
    except TimeoutError:
        return None
