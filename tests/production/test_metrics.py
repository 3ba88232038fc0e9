"""What the operator says of itself: counters that a witness confirms, across restarts, and a log that keeps secrets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from signal import Signals
from typing import Any

from tests.builders import MX, TF
from tests.production.process import Operator, until
from tests.production.site import Site
from tests.production.witness import JOBS
from tests.scenarios.stage import Stage
from trainop.engine import labels
from trainop.kube.port import PODS, SERVICES

COUNTED = ("created", "successful", "failed", "restarted", "deleted")
SAMPLE = "training_operator_jobs_{}_total"
Tally = Counter[tuple[str, str]]
"""How often what was counted of which framework."""
FRAMEWORKS = {TF.plural: TF.name, MX.plural: MX.name}
RETRYABLE, PERMANENT = 137, 1
NAMES = ("good-1", "good-2", "good-3", "bad-1", "bad-2", "again", "long", "brief-1", "brief-2", "late")
"""Of the jobs of each kind; the brief ones are deleted a second after their end."""
SECRET = "hunter2-in-plain-sight"  # noqa: S105 - a test looks for it


async def test_the_counters_of_three_processes_are_what_a_witness_counted(site: Site) -> None:
    """Twenty jobs; the first process is told to end, the second is killed."""
    heard: Tally = Counter()
    requests: Counter[str] = Counter()

    @asynccontextmanager
    async def a_process(last: Signals) -> AsyncIterator[None]:
        """When the block is left, all that has happened is counted: then the page is read, and the process ends."""
        async with site.operator() as replica:
            operator, before = replica.operator, heard.copy()
            yield

            async def all_counted() -> bool:
                return before + await _counted(operator, site.namespace) == _seen(site)

            await site.witness.caught_up()
            await until("the page says what the witness has seen", all_counted)
            heard.update(await _counted(operator, site.namespace))
            for kind in (PODS, SERVICES):
                made = {"verb": "create", "resource": kind.plural, "code": "201"}
                requests[kind.plural] += int(await operator.sample("trainop_api_requests_total", **made))
            await _sensible(operator, site)
            operator.send(last)
            await operator.exit_code()

    kinds = (TF, MX)
    jobs = {(k.name, name): site.job(f"{name}-{k.name}", k) for k in kinds for name in NAMES}

    def each(name: str) -> Iterator[Stage]:
        return (jobs[kind.name, name] for kind in kinds)

    async with a_process(Signals.SIGTERM):
        for name in ("good-1", "bad-1", "again", "long", "brief-1"):
            for job in each(name):
                await _submit(job)
        for name, code in (("good-1", 0), ("bad-1", PERMANENT), ("again", RETRYABLE), ("brief-1", 0)):
            for job in each(name):
                await _exit(job, code)
        for job in each("brief-1"):
            await job.until_pods_are([])

    async with a_process(Signals.SIGKILL):
        for name in ("good-2", "bad-2"):
            for job in each(name):
                await _submit(job)
        for name, code in (("good-2", 0), ("again", RETRYABLE)):
            for job in each(name):
                await _exit(job, code)

    async with a_process(Signals.SIGTERM):
        for name in ("good-3", "brief-2", "late"):
            for job in each(name):
                await _submit(job)
        codes = {"good-3": 0, "bad-2": PERMANENT, "again": 0, "long": 0, "brief-2": 0}
        for name, code in codes.items():
            for job in each(name):
                await _exit(job, code)
        for job in each("brief-2"):
            await job.until_pods_are([])

    each_kind = {"created": 10, "successful": 7, "failed": 2, "restarted": 2, "deleted": 2}
    assert heard == {(what, kind.name): times for what, times in each_kind.items() for kind in kinds}
    assert heard == _seen(site)
    assert requests["pods"] == site.witness.created(PODS).total()
    assert requests["services"] == site.witness.created(SERVICES).total()


async def test_the_log_has_one_line_for_each_transition_and_no_secret(site: Site) -> None:
    container: dict[str, Any] = {
        "name": "tensorflow",
        "image": "train",
        "command": ["train", f"--key={SECRET}"],
    }
    container["env"] = [{"name": "PASSWORD", "value": SECRET}]
    refused = {**container, "volumeMounts": [{"name": "no", "mountPath": "/no"}]}
    good, bad = site.job("good"), site.job("bad")
    async with site.operator("--log-format", "json", "--log-level", "debug") as replica:
        await good.submit(Worker={"template": {"spec": {"containers": [container]}}})
        await bad.submit(Worker={"template": {"spec": {"containers": [refused]}}})
        await bad.until_state("Blocked")
        await _exit(good, 0)
    lines = [json.loads(line) for line in replica.operator.words.splitlines()]
    transitions = [line for line in lines if line.get("job") == "good"]
    told = [line["message"].split(": ")[1] for line in transitions]
    assert told == ["Created", "Running", "Succeeded"]
    job = await good.job()
    about = {"kind": "TFJob", "namespace": site.namespace, "job": "good", "uid": job["metadata"]["uid"]}
    assert all(about.items() <= line.items() for line in transitions)
    assert {"time", "level", "logger", "reason"} <= set(transitions[0])
    assert [line["reason"] for line in lines if line.get("job") == "bad"].count("InvalidTemplate") == 1
    assert SECRET not in replica.operator.words
    assert SECRET not in str(await good.events()) + str(await bad.events())


async def _submit(job: Stage) -> None:
    policy = {"ttlSecondsAfterFinished": 1} if job.name.startswith("brief") else None
    await job.submit(policy, Worker={"restartPolicy": "ExitCode"})
    await job.run_all()
    await job.until_state("Running")


async def _exit(job: Stage, code: int) -> None:
    """The only member ends so, and the job with it, or it is replaced."""
    name = job.child("Worker")
    pods = await job.pods()
    if pods[name]["status"].get("phase") != "Running":
        await job.kubelet.run(name)
        await job.until_state("Running")
    await job.kubelet.exit(name, code)
    if code == RETRYABLE:
        await job.until_replaced(name, pods[name]["metadata"]["uid"])
    elif not job.name.startswith("brief"):
        await job.until_state("Failed" if code else "Succeeded")


def _seen(site: Site) -> Tally:
    """From what is stored alone."""
    tally: Tally = Counter()
    for uid in {r.uid for r in site.witness.revisions if r.kind in JOBS}:
        mine = [r for r in site.witness.history() if r.uid == uid]
        framework = FRAMEWORKS[mine[0].kind.plural]
        statuses = [r.object.get("status") or {} for r in mine]
        conditions = {c["type"] for status in statuses for c in status.get("conditions", ())}
        for what, type_ in (("created", "Created"), ("successful", "Succeeded"), ("failed", "Failed")):
            tally[what, framework] += type_ in conditions
        tally["restarted", framework] += max(status.get("restartCount", 0) for status in statuses)
        tally["deleted", framework] += mine[-1].type == "DELETED"
    return +tally


async def _counted(operator: Operator, namespace: str) -> Tally:
    names = {SAMPLE.format(what): what for what in COUNTED}
    return +Counter(
        {
            (names[name], at["framework"]): int(value)
            for name, at, value in await operator.samples()
            if name in names and at["job_namespace"] == namespace
        }
    )


async def _sensible(operator: Operator, site: Site) -> None:
    """The series of its own, of an operator that has done all there was to do; no job is named, as anybody may ask."""
    for path in ("/metrics", "/healthz", "/readyz"):
        _, page = await operator.get(path)
        assert not [name for name in NAMES if f"{name}-" in page]
    assert await operator.leads()
    assert await operator.sample("trainop_queue_depth") == 0
    assert await operator.sample("trainop_reconcile_seconds_count", result="error") == 0
    assert await operator.sample("trainop_reconcile_seconds_count", result="done") > 0
    assert await operator.sample("trainop_job_submit_to_running_seconds_count") > 0
    assert await operator.sample("trainop_job_run_seconds_count") > 0
    assert await operator.sample("trainop_watch_errors_total") == 0
    assert await operator.sample("trainop_events_dropped_total") == 0
    assert await operator.sample("trainop_build_info") == 1
    for kind in (PODS, SERVICES):
        there = await site.api.list(kind, dict, namespace=site.namespace, selector=labels.JOB_NAME)
        assert await operator.sample("trainop_cache_objects", resource=kind.plural) == len(there.items)
        assert 0 <= await operator.sample("trainop_cache_age_seconds", resource=kind.plural) < 90
