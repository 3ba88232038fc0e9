"""A job as people and programs see it in `trainop status`: head, members, events; all jobs in one table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from trainop.api.base import rfc3339
from trainop.cli.text import coloured, columns, wrapped
from trainop.explain import exits
from trainop.explain.answer import state, why
from trainop.explain.evidence import Evidence
from trainop.explain.findings import duration
from trainop.explain.members import FINE, Row, progress, rows
from trainop.framework import Framework
from trainop.kube.find import Found
from trainop.model import Job
from trainop.parse import parse

EVENTS = 5
"""That are shown."""


def lines(evidence: Evidence) -> list[str]:
    job, members = evidence.job, list(rows(evidence))
    word = "Deleting" if job.deleting else state(job.status)
    head = [
        f"{evidence.title}: {coloured(word)}{_times(job, evidence.now)}",
        *wrapped(why(job.status), "  ", "  "),
        *wrapped(_counts(job, members), "  ", "  "),
    ]
    if members:
        cells = [_cells(row, evidence.now) for row in members]
        head += ["", *columns(("ROLE", "INDEX", "STATE", "RESTARTS", "AGE", "NODE", "EXIT"), cells)]
    if evidence.events:
        head += ["", *_events(evidence)]
    return head


def as_json(evidence: Evidence) -> dict[str, Any]:
    job = evidence.job
    return {
        "apiVersion": evidence.framework.gvk.api_version,
        "kind": evidence.framework.kind,
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "state": state(job.status),
        "message": why(job.status),
        "status": evidence.raw.get("status") or {},
        "members": [_member(row) for row in rows(evidence)],
        "events": [
            {"time": _text(it.time), "type": it.type, "reason": it.reason, "message": it.message}
            | {"object": f"{it.involved_object.kind}/{it.involved_object.name}"}
            for it in evidence.events
        ],
    }


def summary(evidence: Evidence) -> str:
    """One line that changes whenever something worth telling does."""
    job, members = evidence.job, list(rows(evidence))
    troubled = [f"{row.name} {row.word}" for row in members if row.word not in (*FINE, "gone")]
    more = f" and {len(troubled) - 4} more" if len(troubled) > 4 else ""
    told = "; ".join(filter(None, (_counts(job, members), ", ".join(troubled[:4]) + more)))
    return f"{evidence.title}: {state(job.status)}" + (f" ({told})" if told else "")


def table(found: Iterable[Found], now: datetime, *, namespaces: bool) -> list[str]:
    head = ("NAME", "KIND", "STATE", "PROGRESS", "AGE", "TIME", "WHY")
    cells = []
    for it in found:
        job = parse(it.framework, it.raw)
        status = job.status
        ran = (status.completion_time or now) - status.start_time if status.start_time else None
        own = (
            job.name,
            _kind(it.framework),
            state(status),
            status.progress or "-",
            _age(datetime.fromisoformat(job.created) if job.created else None, now),
            duration(ran) if ran else "-",
            why(status),
        )
        cells.append((job.namespace, *own) if namespaces else own)
    return columns(("NAMESPACE", *head) if namespaces else head, cells)


def _kind(framework: Framework[Any]) -> str:
    """With its group where it has a newer namesake: so it is said on a command line."""
    return f"{framework.kind}.{framework.group}" if framework.older else framework.kind


def one_of_many(found: Found) -> dict[str, Any]:
    job = parse(found.framework, found.raw)
    kind = {"apiVersion": found.framework.gvk.api_version, "kind": found.framework.kind}
    where = kind | {"namespace": job.namespace, "name": job.name, "uid": job.uid}
    said = {"state": state(job.status), "message": why(job.status)}
    return where | said | {"status": found.raw.get("status") or {}}


def _counts(job: Job[Any], members: list[Row]) -> str:
    counted = ", ".join(f"{role} {count}" for role, count in progress(members).items())
    again = f"; restarts: {job.status.restart_count}" if job.status.restart_count else ""
    return counted + again


def _times(job: Job[Any], now: datetime) -> str:
    started, ended = job.status.start_time, job.status.completion_time
    if started and ended:
        return f" after {duration(ended - started)}, {duration(now - ended)} ago"
    if started:
        return f", for {duration(now - started)}"
    return f", {_age(datetime.fromisoformat(job.created), now)} old" if job.created else ""


def _cells(row: Row, now: datetime) -> tuple[str, ...]:
    end = f"{row.exit.exit_code} {exits.meaning(row.exit.exit_code, row.exit.reason)}" if row.exit else ""
    if end and row.own and row.own.state.running:
        end = f"before: {end}"
    node = row.pod.spec.node_name if row.pod else ""
    age = _age(row.created, now)
    return row.role, str(row.index), row.word, str(row.restarts), age, node or "-", end


def _member(row: Row) -> dict[str, Any]:
    code = row.exit.exit_code if row.exit else None
    meaning = exits.meaning(row.exit.exit_code, row.exit.reason) if row.exit else None
    return {
        "role": row.role,
        "index": row.index,
        "pod": row.pod_name or None,
        "state": row.word,
        "restarts": row.restarts,
        "exitCode": code,
        "exitMeaning": meaning,
        "node": row.pod.spec.node_name or None if row.pod else None,
        "created": _text(row.created),
    }


def _events(evidence: Evidence) -> list[str]:
    shown = evidence.events[-EVENTS:]
    cells = [
        (_age(it.time, evidence.now), it.type, it.reason, f"{it.involved_object.name}: {it.message}")
        for it in shown
    ]
    return columns(("AGO", "TYPE", "REASON", "EVENT"), cells)


def _age(since: datetime | None, now: datetime) -> str:
    return duration(now - since) if since else "-"


def _text(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment else None
