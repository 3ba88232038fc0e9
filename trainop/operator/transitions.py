"""What becomes of jobs: a line in the log for each transition, and the counters, once per job and transition."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trainop.api.status import Condition, ConditionType, JobStatus
from trainop.framework import Framework
from trainop.model import Job
from trainop.operator.metrics import Metrics

log = logging.getLogger(__name__)


class Transitions:
    """Implements kube.cluster.Listener. Hears of a status only from the process that has stored it, so that
    neither a restart nor a second operator counts anything twice."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counted: set[tuple[str, str]] = set()
        """Namespaces and frameworks that have counters."""

    def stored(self, framework: Framework[Any], job: Job[Any], status: JobStatus) -> None:
        if (where := (job.namespace, framework.name)) not in self._counted:
            self._metrics.zero(*where)
            self._counted.add(where)
        for condition in _news(job.status, status):
            state = condition.type if condition.true else f"not {condition.type}"
            self._log(job, f"{state}: {condition.message}", condition.reason)
            self._count(framework, job, status, condition)
        again = status.restart_count - job.status.restart_count
        if again > 0:
            self._metrics.restarted.labels(job.namespace, framework.name).inc(again)

    def deleted(self, framework: Framework[Any], job: Job[Any]) -> None:
        self._metrics.deleted.labels(job.namespace, framework.name).inc()
        self._log(job, "deleted: its time to live is over", "SuccessfulDeleteJob")

    def _count(
        self, framework: Framework[Any], job: Job[Any], status: JobStatus, condition: Condition
    ) -> None:
        metrics, where = self._metrics, (job.namespace, framework.name)
        match condition.type:
            case ConditionType.CREATED:
                metrics.created.labels(*where).inc()
            case ConditionType.RUNNING if condition.true and job.status.condition("Restarting") is None:
                begun = _begun(job, status)
                if begun and condition.last_transition_time:
                    waited = (condition.last_transition_time - begun).total_seconds()
                    metrics.submit_to_running.observe(max(0.0, waited), framework.name)
            case ConditionType.SUCCEEDED:
                metrics.successful.labels(*where).inc()
                self._ended(framework, status, "succeeded")
            case ConditionType.FAILED:
                metrics.failed.labels(*where).inc()
                self._ended(framework, status, "failed")

    def _ended(self, framework: Framework[Any], status: JobStatus, result: str) -> None:
        if status.start_time and status.completion_time:
            lasted = (status.completion_time - status.start_time).total_seconds()
            self._metrics.run.observe(max(0.0, lasted), framework.name, result)

    def _log(self, job: Job[Any], message: str, reason: str) -> None:
        about = {
            "kind": job.key.gvk.kind,
            "namespace": job.namespace,
            "job": job.name,
            "uid": job.uid,
            "reason": reason,
        }
        log.info("%s: %s", job.key, message, extra={"about": about})


def _news(before: JobStatus, after: JobStatus) -> Iterator[Condition]:
    """Conditions that have changed, other than to False with the end of the job."""
    for condition in after.conditions:
        old = before.condition(condition.type)
        changed = old is None or old.status != condition.status or old.reason != condition.reason
        if changed and (condition.true or not after.finished):
            yield condition


def _begun(job: Job[Any], status: JobStatus) -> datetime | None:
    """When users began to wait: at the submission, or when the job was resumed."""
    if status.condition(ConditionType.SUSPENDED) or not job.created:
        return status.start_time
    return datetime.fromisoformat(job.created)
