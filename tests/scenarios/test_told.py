"""What users are told of pods that do not get on, and of what the cluster refuses. kubeflow-v1 §6.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import pytest

from tests.crashing import Ledger, operator
from tests.scenarios.stage import Cast, Stage
from trainop.errors import Refused
from trainop.kube.memory import Memory
from trainop.kube.port import EVENTS, Raw, Resource

T = TypeVar("T")
pytestmark = pytest.mark.parametrize("cast", ["TFJob"], indirect=True)


async def test_a_pod_that_does_not_get_on_is_told_once_in_whatever_words_and_nothing_is_written(
    stage: Stage,
) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    crashing, other = stage.children("Worker")

    async def settled() -> bool:
        return bool((await stage.job())["status"]["progress"] == "4/4")

    await stage.until(settled, "all members counted")
    before = (await stage.job())["metadata"]["resourceVersion"]

    def told(pod: str, seconds: int) -> tuple[str, str]:
        return (
            "CrashLoopBackOff",
            f"Error pod {pod} container tensorflow waiting message: back-off {seconds}s",
        )

    for seconds in (10, 20, 40):
        await stage.kubelet.wait(crashing, "CrashLoopBackOff", f"back-off {seconds}s")
    # The last to happen: once both are told, nothing of the first is still on its way.
    await stage.kubelet.wait(other, "CrashLoopBackOff", "back-off 10s")

    async def complaints() -> list[tuple[str, str]]:
        return [event for event in await stage.events() if event[0] == "CrashLoopBackOff"]

    async def both_told() -> bool:
        found = await complaints()
        return told(other, 10) in found and len(found) > 1

    await stage.until(both_told, "the complaints of both pods")
    first = [event for event in await complaints() if event != told(other, 10)]
    assert len(first) == 1
    assert first[0] in [told(crashing, seconds) for seconds in (10, 20, 40)]
    assert (await stage.job())["metadata"]["resourceVersion"] == before


async def test_a_pod_that_cannot_start_is_made_anew_once_the_job_is_mended(stage: Stage) -> None:
    def image(name: str) -> Raw:
        containers = [{"name": stage.cast.framework.container, "image": name}]
        return {"replicas": 2, "template": {"spec": {"containers": containers}}}

    await stage.submit(Worker=image("absent"))
    await stage.until_pods_are(stage.children())
    before, (runs, stuck) = await stage.pods(), stage.children("Worker")
    await stage.kubelet.run(runs)
    await stage.kubelet.wait(stuck, "ErrImagePull", "there is no such image", phase="Pending")
    await stage.edit({"tfReplicaSpecs": {"Worker": image("mended")}})

    async def mended() -> bool:
        pod = (await stage.pods()).get(stuck)
        return bool(pod and pod["spec"]["containers"][0]["image"] == "mended")

    await stage.until(mended, "the stuck pod has the new image")
    uids = {name: pod["metadata"]["uid"] for name, pod in (await stage.pods()).items()}
    assert [name for name in uids if uids[name] != before[name]["metadata"]["uid"]] == [stuck]
    await stage.run_all()
    await stage.until_state("Running")
    assert not (await stage.job())["status"].get("restartCount")


@pytest.mark.parametrize("stage_name", [pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True)
async def test_a_pod_that_the_cluster_refuses_is_told_in_its_words(stage: Stage) -> None:
    """Nothing but a real API server looks for the service account."""
    container = {"name": "tensorflow", "image": "example/train"}
    template = {"spec": {"serviceAccountName": "nobody", "containers": [container]}}
    await stage.submit(Worker={"template": template})
    job = await stage.until_state("Blocked")
    assert job["status"]["conditions"][-1]["reason"] == "Forbidden"

    async def told() -> bool:
        return "FailedCreatePod" in dict(await stage.events())

    await stage.until(told, "a Warning")
    message = dict(await stage.events())["FailedCreatePod"]
    assert message.startswith("Error creating: ")
    assert "nobody" in message


class Old(Memory):
    """As Kubernetes before 1.33 does it, takes no status of a job that breaks a rule."""

    tries = 0

    async def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> T:
        if subresource:
            self.tries += 1
            raise Refused(f"{what.plural} {name} is invalid", code=422, reason="Invalid")
        return await super().patch(what, namespace, name, patch, shape, subresource=subresource)


async def test_a_bad_spec_is_told_once_where_its_verdict_cannot_be_stored(cast: Cast) -> None:
    api, frameworks = Old(), {cast.framework.gvk: cast.framework}
    stage = Stage(api, "default", cast, "job")
    async with operator(api, frameworks, Ledger(), namespace=stage.namespace):
        await stage.submit(Worker={"restartPolicy": "Sometimes"})

        async def told_and_tried_again() -> bool:
            return bool(await stage.events()) and api.tries >= 3

        await stage.until(told_and_tried_again, "an event and more tries")
    (event,) = (await api.list(EVENTS, dict, namespace=stage.namespace)).items
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "TFJobFailedValidation", 1)
    assert "spec.tfReplicaSpecs.Worker.restartPolicy: must be Always" in event["message"]
