"""Causes that end a pod: out of memory, a program that fails, a cluster that takes it away."""

from __future__ import annotations

from collections.abc import Iterator

from trainop.engine.roster import State
from trainop.explain import exits
from trainop.explain.evidence import Container, Ended, Evidence
from trainop.explain.findings import Finding, alike, ours
from trainop.explain.members import Row, named, rows

LINES = 5
"""Of the last words of a program."""


def out_of_memory(evidence: Evidence) -> Iterator[Finding]:
    found = [(c.name, row) for row, c, ended in _failed(evidence) if ended.reason == "OOMKilled"]
    for container, members in alike(found).items():
        message = f"container {container} of {named(members)} used more memory than its limit and was killed."
        limit = _limit(members[0], container)
        told = (f"its memory limit is {limit}",) if limit else ()
        then = ("raise resources.limits.memory, or make the training smaller, such as its batch size",)
        words = tuple(_words(evidence, members))
        yield Finding("OutOfMemory", message, (*told, *_restarted(members), *words), then)


def failed(evidence: Evidence) -> Iterator[Finding]:
    """A program that ends with another code than 0, once or again and again."""
    found = []
    for row, it, ended in _failed(evidence):
        if ended.reason != "OOMKilled":
            found.append(((row.role, it.name, ended.exit_code, _looping(it)), row))
    for (_, container, code, looping), members in alike(found).items():
        first, own = members[0], container == members[0].container
        what = named(members) if own else f"container {container} of {named(members)}"
        one = len(members) == 1 or not own
        if looping:
            does = "fails again and again" if one else "fail again and again"
        else:
            does = "has failed" if one else "have failed"
        message = f"{what} {does} with exit code {code}: {exits.meaning(code)}."
        kind = evidence.framework
        then = exits.consequence(first.policy, code, kind.manner.retryable, written=not kind.older)
        told = (*_restarted(members), then, *_words(evidence, members))
        previous = ("--previous",) if looping else ()
        look = ours(evidence, "logs", "--role", first.role, "--index", str(first.index), *previous)
        yield Finding("CrashLoop" if looping else "MemberFailed", message, told, (_remedy(code), look))


def taken_away(evidence: Evidence) -> Iterator[Finding]:
    """Not the job's fault: such members are replaced, unless their policy is Never."""
    # What goes after the end was cleaned up; only what failed the job is of interest then.
    over = evidence.job.status.finished
    states = (State.FAILED,) if over else (State.FAILED, State.LOST, State.GOING)
    disrupted = {pod.name for pod in evidence.seen if pod.disrupted or pod.reason}
    found = []
    for row in rows(evidence):
        if row.pod and row.pod.name in disrupted and row.state in states:
            target = row.pod.condition("DisruptionTarget")
            told = row.pod.status.message or (target.message if target else "")
            found.append(((row.pod.status.reason or "Disrupted", told, row.state is State.FAILED), row))
        elif row.state is State.GOING and not over:
            found.append((("Deleted", "", False), row))
    for (reason, told, final), members in alike(found).items():
        then = "restartPolicy Never lets this fail the job" if final else "a pod is replaced when it is gone"
        going = "its pod is being deleted" if len(members) == 1 else "their pods are being deleted"
        word = going if reason == "Deleted" else f"taken away by the cluster ({reason})"
        message = f"{named(members)}: {word}."
        remedy = ("set restartPolicy: OnFailure or ExitCode to survive this",) if final else ()
        yield Finding("TakenAway", message, tuple(filter(None, (told, then))), remedy)


def _failed(evidence: Evidence) -> Iterator[tuple[Row, Container, Ended]]:
    """Of each member the container that ended badly, the one that does the training first."""
    if evidence.job.status.is_true("Succeeded"):
        return
    for row in rows(evidence):
        if row.pod is None or row.state in (State.GOING, State.SUCCEEDED, State.LOST):
            continue
        own = [row.own] if row.own else []
        for container in (*own, *(it for it in row.pod.containers if it is not row.own)):
            ended = container.ended
            if ended and ended.exit_code and (_looping(container) or container.state.terminated):
                yield row, container, ended
                break


def _looping(container: Container) -> bool:
    waits = container.state.waiting
    return waits is not None and waits.reason == "CrashLoopBackOff"


def _remedy(code: int) -> str:
    match code:
        case 126 | 127:
            return "correct the command of the container, or its image"
        case 137:
            return "see who killed it: the node's memory, a liveness probe, or a person"
    return "see what the program says:"


def _restarted(members: list[Row]) -> tuple[str, ...]:
    most = max(members, key=lambda row: row.restarts)
    return (f"{most.name} has been restarted {most.restarts} times in place",) if most.restarts else ()


def _words(evidence: Evidence, members: list[Row]) -> Iterator[str]:
    for row in members:
        if row.pod and (lines := evidence.last_words.get(row.pod.name)):
            yield from (f"{row.name} | {line}" for line in lines[-LINES:])
            return
    for row in members:
        if row.exit and row.exit.message:
            yield from (f"{row.name} | {line}" for line in row.exit.message.splitlines()[-LINES:])
            return


def _limit(row: Row, container: str) -> str:
    for it in row.pod.spec.containers if row.pod else ():
        if it.get("name") == container:
            return str(((it.get("resources") or {}).get("limits") or {}).get("memory", ""))
    return ""
