"""Which of several operators works: the one that holds the Lease. The others wait with warm caches."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from trainop.errors import ApiError, Conflict, Deposed, Exists, Gone
from trainop.kube.port import Api, Raw, Resource
from trainop.kube.wire import Metadata

LEASES = Resource("coordination.k8s.io", "v1", "leases")
NOBODY = ""
log = logging.getLogger(__name__)


class Terms(Struct, frozen=True, kw_only=True):
    """Seconds, as in every other operator."""

    duration: float = 15.0
    """How long the others wait for a holder of whom nothing is heard."""
    renew_deadline: float = 10.0
    """How long a holder that cannot renew goes on working."""
    retry_period: float = 2.0


USUAL = Terms()


class _Spec(Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Record(Struct, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()

    @property
    def holder(self) -> str:
        return self.spec.holder_identity or NOBODY


class Lease:
    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        identity: str,
        terms: Terms = USUAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.where, self.identity, self.terms = f"{namespace}/{name}", identity, terms
        self._api, self._namespace, self._name, self._clock = api, namespace, name, clock
        self.tell: Callable[[bool], None] = lambda leading: None
        """Called when this process begins to lead, and when it does no longer."""
        self._record: _Record | None = None
        self._changed = clock()
        """When the record was first seen as it is: clocks of other machines do not count."""
        self._renewed = float("-inf")
        """When our last renewal that was taken had been sent."""
        self.leading = False
        self.last_heard = clock()
        self._one_at_a_time = asyncio.Lock()
        self._given_back = False

    @property
    def valid(self) -> bool:
        """Nobody else can be leading now, even if this process had been stopped for a while."""
        return self.leading and self._clock() < self._renewed + self.terms.renew_deadline

    def check(self) -> None:
        """To be called when a write is about to be sent: a leader that was deposed in its sleep writes nothing."""
        if not self.valid:
            raise Deposed(f"the lease {self.where} is not ours any more")

    async def run(self) -> None:
        """Until cancelled, or given back."""
        while not self._given_back:
            async with self._one_at_a_time:
                await self._turn()
            # Who waits looks twice as often: a lease that is given back must not lie around.
            await asyncio.sleep(self.terms.retry_period / (1 if self.leading else 2))

    async def release(self) -> None:
        """Give it back, so that nobody has to wait until it expires. A renewal that is under way comes first: it would
        take the lease again."""
        self._given_back = True
        try:
            async with asyncio.timeout(self.terms.retry_period), self._one_at_a_time:
                if not self.leading or self._record is None:
                    return
                self._lead(False)
                await self._write({"holderIdentity": NOBODY, "leaseDurationSeconds": 1})
        except (ApiError, TimeoutError) as error:
            log.warning("lease %s could not be given back, it will expire: %s", self.where, error)

    async def _turn(self) -> None:
        sent = self._clock()
        try:
            async with asyncio.timeout(max(self.terms.renew_deadline / 2, self.terms.retry_period)):
                ours = await self._take()
        except (ApiError, TimeoutError) as error:
            ours = self.valid
            self._record = None if isinstance(error, Conflict | Gone) else self._record
            log.warning("lease %s: %s", self.where, error or "no answer in time")
        else:
            self.last_heard = self._clock()
            self._renewed = sent if ours else self._renewed
        self._lead(ours)

    async def _take(self) -> bool:
        """Whether it is ours now."""
        if not self.leading or self._record is None:
            try:
                self._see(await self._api.get(LEASES, self._namespace, self._name, _Record))
            except Gone:
                # Someone has deleted it. Whoever held it does not know that yet, and goes on for a while.
                if self._record is not None and not self._free(self._record):
                    return False
                return await self._create()
        record = self._record
        if record is None or not self._free(record):
            return False
        again = record.holder == self.identity
        changes: Raw = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.terms.duration),
            "renewTime": _now(),
        }
        if not again:
            changes |= {"acquireTime": _now(), "leaseTransitions": (record.spec.lease_transitions or 0) + 1}
        try:
            await self._write(changes)
        except Conflict:
            self._record = None
            return await self._take() if again else False
        return True

    def _free(self, record: _Record) -> bool:
        patience = record.spec.lease_duration_seconds or self.terms.duration
        return record.holder in (NOBODY, self.identity) or self._clock() > self._changed + patience

    async def _create(self) -> bool:
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.terms.duration),
            "acquireTime": _now(),
            "renewTime": _now(),
            "leaseTransitions": 0,
        }
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
        try:
            made = await self._api.create(
                LEASES, self._namespace, {**body, "metadata": {"name": self._name}}, _Record
            )
        except Exists:
            return False
        self._see(made)
        return True

    async def _write(self, spec: Raw) -> None:
        """Only if nobody else has written since we looked."""
        if self._record is None:
            raise Conflict(f"lease {self.where} has changed")
        seen = {"resourceVersion": self._record.metadata.resource_version}
        patch = {"metadata": seen, "spec": spec}
        self._see(await self._api.patch(LEASES, self._namespace, self._name, patch, _Record))

    def _see(self, record: _Record) -> None:
        if self._record is None or self._record.spec != record.spec:
            self._changed = self._clock()
        self._record = record

    def _lead(self, leading: bool) -> None:
        if leading == self.leading:
            return
        self.leading = leading
        word = "leading" if leading else "not leading any more"
        log.info("%s: lease %s as %s", word, self.where, self.identity)
        self.tell(leading)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
