"""Keeps the jobs of one kind up to date, and says which of them to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from trainop.kube.follower import Follower
from trainop.kube.jobs import Jobs
from trainop.kube.port import Api, Change, Resource
from trainop.kube.wire import RawJob
from trainop.model import GVK, Key


class JobWatch(Follower[RawJob]):
    """`wake` is called for a job that is news, not for what our own write has told already, or is about to tell:
    who writes looks for himself whether more has happened meanwhile. `gone` for one that is not there any more."""

    def __init__(
        self,
        api: Api,
        gvk: GVK,
        plural: str,
        jobs: Jobs,
        *,
        namespace: str | None = None,
        wake: Callable[[Key], None],
        gone: Callable[[Key], None],
        failed: Callable[[str], None] = lambda plural: None,
    ) -> None:
        resource = Resource(gvk.group, gvk.version, plural)
        super().__init__(api, resource, RawJob, namespace=namespace, failed=failed)
        self._gvk, self._jobs, self._wake, self._gone = gvk, jobs, wake, gone

    def _version_of(self, item: RawJob) -> str:
        return item["metadata"]["resourceVersion"]

    def _take_all(self, items: Sequence[RawJob], version: int, *, restored: bool) -> None:
        there = () if restored else {raw["metadata"]["uid"] for raw in items}
        for key in self._jobs.keep_only(there, self._gvk, self._namespace, inf if restored else version):
            self._gone(key)
        for raw in items:
            self._hold(raw)

    def _take(self, change: Change[RawJob]) -> None:
        if change.type != "DELETED":
            self._hold(change.object)
            return
        key = self._key(change.object)
        self._jobs.drop(key, change.object["metadata"]["uid"])
        self._gone(key)

    def _hold(self, raw: RawJob) -> None:
        key = self._key(raw)
        if self._jobs.put(key, raw) and key not in self._jobs.writing:
            self._wake(key)

    def _key(self, raw: RawJob) -> Key:
        return Key(self._gvk, raw["metadata"]["namespace"], raw["metadata"]["name"])
