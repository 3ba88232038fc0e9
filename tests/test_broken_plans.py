"""A framework that raises while the operator works on a job: the job says so, goes on when it is mended, and is alone
in its trouble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.builders import MX, TF, a_manifest
from tests.production.process import until
from trainop.framework import Bootstrap, Framework
from trainop.kube.cluster import resource
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, PODS, Raw
from trainop.model import Job, Topology
from trainop.operator.controller import Controller


class Moody:
    """TensorFlow's environment, while it is in the mood."""

    def __init__(self) -> None:
        self.sulks = True

    def __call__(self, job: Job[Any], members: Topology) -> Bootstrap:
        if self.sulks:
            raise KeyError("loss")
        return TF.bootstrap(job, members)


async def blocked(api: Memory, framework: Framework[Any]) -> Mapping[str, Any] | None:
    raw: Raw = await api.get(resource(framework), "ns", "mnist", dict)
    found = [c for c in (raw.get("status") or {}).get("conditions", ()) if c["type"] == "Blocked"]
    return found[0] if found else None


async def test_the_job_says_what_went_wrong_until_it_goes_on() -> None:
    api, moody = Memory(), Moody()
    broken = replace(TF, bootstrap=moody)
    controller = Controller(api, {broken.gvk: broken, MX.gvk: MX})
    async with controller.running():
        for framework, name in ((broken, "mnist"), (MX, "other")):
            manifest = a_manifest(framework, name=name, Worker=1)
            await api.create(resource(framework), "ns", manifest, dict)

        condition = await until("the job tells", lambda: blocked(api, broken))
        assert (condition["status"], condition["reason"]) == ("True", "OperatorError")
        assert condition["message"].startswith(
            "the operator cannot work out what the job needs: KeyError: 'loss' (test_broken_plans.py, line "
        )

        async def told() -> list[Raw]:
            events = (await api.list(EVENTS, dict, namespace="ns")).items
            return [event for event in events if event["reason"] == "OperatorError"]

        assert [event["type"] for event in await until("an event", told)] == ["Warning"]

        async def pods() -> list[Raw]:
            return (await api.list(PODS, dict, namespace="ns")).items

        (other,) = await until("the other job has its pod", pods)
        assert other["metadata"]["ownerReferences"][0]["kind"] == "MXJob"

        moody.sulks = False

        async def goes_on() -> bool:
            now = await blocked(api, broken)
            return now is not None and now["status"] == "False"

        await until("the job goes on", goes_on)
