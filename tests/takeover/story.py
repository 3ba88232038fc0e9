"""A story is told in parts, while the old operator runs, while nobody looks, and while trainop runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.stage import Cast, Stage
from trainop.kube.port import PODS, Raw
from trainop.registry import frameworks

Children = dict[str, tuple[str, str]]
"""UID and resourceVersion by kind and name: the same version means that nobody wrote anything."""


@dataclass(frozen=True)
class Inherited(Stage):
    """A job that the old operator began, and what was there of it when that had stopped."""

    left: dict[str, Any] = field(default_factory=dict)

    async def record(self) -> None:
        self.left.update(status=(await self.job()).get("status", {}), children=await self._stored())

    async def until_taken_over(self) -> Raw:
        """Its status after trainop has looked at it: it has kept the story so far and touched no child."""
        await self.until_status("observedGeneration", (await self.job())["metadata"]["generation"])
        status: Raw = (await self.job())["status"]
        for kept in ("conditions", "startTime", "completionTime"):
            assert status.get(kept) == self.left["status"].get(kept)
        assert await self._stored() == self.left["children"]
        return status

    async def assert_untouched(self) -> None:
        """Nobody has written anything: for a job that is over when trainop comes."""
        assert (await self.job())["status"] == self.left["status"]
        assert await self._stored() == self.left["children"]

    def left_uid(self, pod: str) -> str:
        uid: str = self.left["children"][f"pod {pod}"][0]
        return uid

    async def until_status(self, key: str, value: object) -> None:
        async def so() -> bool:
            return bool((await self.job())["status"].get(key) == value)

        await self.until(so, f"{key} {value}")

    async def until_counted(self, role: str, **counts: int) -> None:
        """The counters of a role are these; one that is not stored is zero."""

        async def so() -> bool:
            found = (await self.job())["status"].get("replicaStatuses", {}).get(role, {})
            return all(found.get(key, 0) == count for key, count in counts.items())

        await self.until(so, f"{role} with {counts}")

    async def finish(self, *, new: Collection[str] = ()) -> Raw:
        """Bring it to a good end; only these children are not the ones that the old operator left."""
        await self.until_state("Running")
        left = {child: uid for child, (uid, _) in self.left["children"].items() if child not in new}
        assert await self._uids(new) == left
        await self.succeed()
        job = await self.until_state("Succeeded")
        running = next(c for c in job["status"]["conditions"] if c["type"] == "Running")
        assert running["status"] == "False"
        await self.until_pods_are([self.child(self.cast.decider)])
        await self.until_services_are([self.child(self.cast.decider)])
        assert (await self._uids(new)).items() <= left.items()
        return job

    async def succeed(self) -> None:
        """The member that decides ends well."""
        await self.kubelet.exit(self.child(self.cast.decider))

    async def hold(self, name: str) -> None:
        """Keep a pod that is deleted from going, as a busy node would."""
        await self._finalizers(name, ["example.com/busy"])

    async def let_go(self, name: str) -> None:
        await self._finalizers(name, None)

    async def delete_pod(self, name: str) -> None:
        await self.api.delete(PODS, self.namespace, name, self.left_uid(name))

    async def until_gone(self) -> None:
        async def gone() -> bool:
            found = await self.api.list(self.jobs, dict, namespace=self.namespace)
            return self.name not in {job["metadata"]["name"] for job in found.items}

        await self.until(gone, "the job's deletion")
        await self.until_pods_are([])
        await self.until_services_are([])

    async def _finalizers(self, pod: str, value: list[str] | None) -> None:
        await self.api.patch(PODS, self.namespace, pod, {"metadata": {"finalizers": value}}, dict)

    async def _uids(self, new: Collection[str]) -> dict[str, str]:
        return {child: uid for child, (uid, _) in (await self._stored()).items() if child not in new}

    async def _stored(self) -> Children:
        pods = {f"pod {name}": pod for name, pod in (await self.pods()).items()}
        services = {f"service {name}": service for name, service in (await self.services()).items()}
        return {
            child: (found["metadata"]["uid"], found["metadata"]["resourceVersion"])
            for child, found in (pods | services).items()
        }


Story = Callable[[Inherited], AsyncIterator[None]]


@dataclass
class Telling:
    """One story about one kind of job, as far as it has been told."""

    story: Story
    job: Inherited
    gap: bool
    """Whether something happens while nobody looks."""
    parts: AsyncIterator[None] = field(init=False)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.parts = self.story(self.job)

    async def go_on(self) -> None:
        """Tell the next part; what goes wrong is the test's to tell."""
        try:
            await anext(self.parts)
        except Exception as error:
            self.error = error

    async def end(self) -> None:
        """Tell the last part."""
        if self.error:
            raise self.error
        async for _ in self.parts:
            raise AssertionError("the story goes on after its end")


class Stories:
    """All stories of a test module, each with the kinds of jobs that it is about."""

    def __init__(self) -> None:
        self._stories: list[tuple[Story, str, bool]] = []

    def about(self, *casts: str, gap: bool = False) -> Callable[[Story], Story]:
        """Makes a story of a function that yields where the old operator is stopped and, if there is a gap,
        again where trainop is started."""

        def add(story: Story) -> Story:
            self._stories.extend((story, cast, gap) for cast in casts)
            return story

        return add

    @property
    def ids(self) -> list[str]:
        return [f"{cast}: {story.__name__}" for story, cast, _ in self._stories]

    def tellings(self, api: Any, namespace: str) -> Iterator[Telling]:
        for number, (story, name, gap) in enumerate(self._stories):
            job = Inherited(api, namespace, cast(name), f"{name.split()[0].lower()}-{number}")
            yield Telling(story, job, gap)


def cast(name: str) -> Cast:
    known = {gvk.kind: framework for gvk, framework in frameworks().items()}
    match name:
        case "TFJob":
            return Cast(known["TFJob"], {"Chief": 1, "PS": 1, "Worker": 2}, "Chief", "PS")
        case "TFJob without a chief":
            return Cast(known["TFJob"], {"PS": 1, "Worker": 2}, "Worker", "PS")
        case "TFJob in lower case":
            return Cast(known["TFJob"], {"chief": 1, "ps": 1, "worker": 2}, "chief", "ps")
        case "MXJob":
            replicas, mode = {"Scheduler": 1, "Server": 1, "Worker": 2}, {"jobMode": "MXTrain"}
            return Cast(known["MXJob"], replicas, "Scheduler", "Server", mode)
        case "PyTorchJob":
            return Cast(
                known["PyTorchJob"], {"Master": 1, "Worker": 2}, "Master", "Worker", {"nprocPerNode": "2"}
            )
        case "PyTorchJob without a master":
            return Cast(known["PyTorchJob"], {"Worker": 2}, "Worker", "Worker")
        case "PyTorchJob of elastic workers":
            policy = {
                "minReplicas": 1,
                "maxReplicas": 3,
                "rdzvId": "mine",
                "rdzvConf": [{"key": "timeout", "value": "900"}, {"key": "is_host", "value": "0"}],
                "nProcPerNode": 2,
                "maxRestarts": 5,
            }
            return Cast(known["PyTorchJob"], {"Worker": 2}, "Worker", "Worker", {"elasticPolicy": policy})
        case "XGBoostJob":
            return Cast(known["XGBoostJob"], {"Master": 1, "Worker": 2}, "Master", "Worker")
    raise LookupError(name)
