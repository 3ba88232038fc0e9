"""`trainop explain` on a real API server: broken jobs, each with the sentence that people get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.controlplane import Cluster
from tests.crashing import Ledger, operator
from tests.node import Node
from tests.scenarios.asking.person import Person, reader
from tests.scenarios.quota import Quota
from tests.scenarios.stage import Stage
from trainop.kube.port import PODS, Resource
from trainop.model import Settings
from trainop.registry import frameworks

NAMESPACES = Resource("", "v1", "namespaces")


async def test_a_quota_that_is_used_up(stage: Stage, person: Person) -> None:
    await Quota(stage).impose()
    await stage.submit()
    await stage.until_state("Blocked")
    found = await person.explains(stage.name)
    assert found["cause"] == "QuotaExceeded"
    assert found["message"] == f"the quota none leaves no room for TFJob {stage.namespace}/job (pods)."
    assert "quota none: pods 0 of 0 used" in found["evidence"]


async def test_a_name_that_is_taken(stage: Stage, person: Person) -> None:
    spec = {"containers": [{"name": "other", "image": "other"}]}
    pod = {"metadata": {"name": stage.child("Chief")}, "spec": spec}
    await stage.api.create(PODS, stage.namespace, pod, dict)
    await stage.submit()
    await stage.until_state("Blocked")
    found = await person.explains(stage.name)
    assert found["cause"] == "NameConflict"
    assert found["message"] == (
        f"TFJob {stage.namespace}/job cannot make its pod job-chief-0: there is one of that name already."
    )
    assert found["evidence"][1] == "pod job-chief-0 belongs to nobody: it was made by itself"


async def test_a_template_that_the_api_server_refuses(stage: Stage, person: Person) -> None:
    port = {"name": "tensorflow", "image": "train", "ports": [{"containerPort": 99_999}]}
    await stage.submit(Chief={"template": {"spec": {"containers": [port]}}})
    await stage.until_state("Blocked")
    found = await person.explains(stage.name)
    assert found["cause"] == "InvalidTemplate"
    assert "spec.containers[0].ports[0].containerPort" in found["evidence"][0]


async def test_pod_security_that_the_pods_do_not_keep(stage: Stage, person: Person) -> None:
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await stage.api.patch(NAMESPACES, "", stage.namespace, enforce, dict)
    await stage.submit()
    await stage.until_state("Blocked")
    found = await person.explains(stage.name)
    assert found["cause"] == "PodSecurity"
    assert "Pod Security restricted:latest" in found["message"]
    assert any(told.startswith("runAsNonRoot != true") for told in found["evidence"])


async def test_suspended_and_by_whom(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.run_all()
    await person.says("suspend", stage.name)
    await stage.until_state("Suspended")
    found = await person.explains(stage.name)
    assert found["cause"] == "Suspended"
    assert found["evidence"][0].startswith("spec.runPolicy.suspend was set by trainop at 20")
    assert found["next"] == [f"trainop resume tfjob/job -n {stage.namespace}"]


async def test_a_crash_loop_with_the_last_words_of_the_program(
    stage: Stage, person: Person, crds: Cluster, node: Node
) -> None:
    await stage.submit(Worker={"restartPolicy": "OnFailure"})
    await stage.run_all()
    worker = stage.child("Worker", 1)
    node.bind(crds, stage.namespace, worker)
    node.write(stage.namespace, worker, "Traceback (most recent call last):", "KeyError: 'loss'")
    node.end(stage.namespace, worker)
    await stage.kubelet.crash(worker, 1, restarts=3)
    found = await person.explains(stage.name)
    assert found["message"] == (
        "worker-1 fails again and again with exit code 1: the program failed; its last lines say why."
    )
    assert found["evidence"][-1] == "worker-1 | KeyError: 'loss'"
    text = (await person.says("explain", stage.name)).stdout
    assert "  worker-1 | KeyError: 'loss'\n" in text
    assert "  -> trainop logs tfjob/job -n " in text


async def test_out_of_memory(stage: Stage, person: Person) -> None:
    await stage.submit(Worker={"restartPolicy": "OnFailure"})
    await stage.run_all()
    await stage.kubelet.crash(stage.child("Worker"), 137, restarts=1, reason="OOMKilled")
    found = await person.explains(stage.name)
    assert found["message"] == (
        "container tensorflow of worker-0 used more memory than its limit and was killed."
    )


@pytest.mark.parametrize(
    ("reason", "told", "sentence"),
    [
        ("ErrImagePull", "manifest unknown", "the image example/train of ps-0 cannot be pulled."),
        (
            "CreateContainerConfigError",
            'secret "hub" not found',
            "container tensorflow of ps-0 cannot start: the Secret hub is not there.",
        ),
    ],
)
async def test_a_container_that_cannot_start(
    stage: Stage, person: Person, reason: str, told: str, sentence: str
) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.kubelet.wait(stage.child("PS"), reason, told)
    assert (await person.explains(stage.name))["message"] == sentence


async def test_a_pod_that_no_node_takes(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.until_pods_are(stage.children())
    told = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    await condition(stage, stage.child("Worker"), reason="Unschedulable", message=told)
    found = await person.explains(stage.name)
    assert found["message"] == "no node takes worker-0: there is not enough nvidia.com/gpu."
    assert found["evidence"][0] == told


async def condition(stage: Stage, pod: str, **fields: Any) -> None:
    """What a scheduler says of a pod."""
    status: Mapping[str, Any] = {"conditions": [{"type": "PodScheduled", "status": "False", **fields}]}
    await stage.api.patch(PODS, stage.namespace, pod, {"status": status}, dict, subresource="status")


@pytest.mark.usefixtures("pod_group_kinds")
async def test_waiting_for_its_gang(apart: Stage, person: Person) -> None:
    volcano = Settings(gang_scheduler="volcano")
    async with operator(apart.api, frameworks(), Ledger(), namespace=apart.namespace, settings=volcano):
        await apart.submit({"schedulingPolicy": {"queue": "batch"}})

        async def waits() -> bool:
            return bool((await person.explains(apart.name))["cause"] == "WaitingForGang")

        await apart.until(waits, "it waits for its gang")
        found = await person.explains(apart.name)
    assert found["message"] == (
        f"TFJob {apart.namespace}/job waits for its gang: 4 pods have to find a place at once before any starts."
    )
    assert found["evidence"] == ["PodGroup job is not looked at yet", "its queue is batch"]


async def test_past_its_deadline(stage: Stage, person: Person) -> None:
    await stage.submit({"activeDeadlineSeconds": 1})
    await stage.until_state("Failed")
    found = await person.explains(stage.name)
    assert found["message"] == (
        f"TFJob {stage.namespace}/job was ended because it took longer than its activeDeadlineSeconds of 1."
    )


async def test_restarted_too_often(stage: Stage, person: Person) -> None:
    await stage.submit({"backoffLimit": 1, "cleanPodPolicy": "All"}, Worker={"restartPolicy": "ExitCode"})
    await stage.run_all()
    await stage.kubelet.exit(stage.child("Worker"), 137)
    await stage.until_state("Failed")
    await stage.until_pods_are([])
    found = await person.explains(stage.name)
    assert found["message"] == (
        f"TFJob {stage.namespace}/job was given up after its members failed once: its backoffLimit is 1."
    )
    assert f"Pod: {stage.namespace}.job-worker-0 exited with code 137" in found["evidence"]


async def test_no_operator_at_work(apart: Stage, person: Person) -> None:
    await apart.submit()
    found = await person.explains(apart.name)
    assert found["cause"] in ("NotTakenUp", "NoOperator")  # whichever, as time goes by
    assert (await person.asks("explain", apart.name))["state"] == "New"


async def test_a_job_that_runs_and_one_that_has_succeeded(stage: Stage, person: Person) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    assert (await person.explains(stage.name))["cause"] == "Running"
    await stage.exit_all("Chief")
    await stage.until_state("Succeeded")
    assert (await person.explains(stage.name))["cause"] == "Succeeded"


async def test_a_file_is_checked_before_the_job_that_it_names_is_looked_for(
    stage: Stage, person: Person, tmp_path: Path
) -> None:
    file, job = tmp_path / "job.yaml", stage.cast.job(stage.name)
    file.write_text(json.dumps(job | {"spec": job["spec"] | {"tfReplicaSpec": {}}}))
    answer = await person.asks("explain", str(file))
    assert answer["state"] == "NotSubmitted"
    assert answer["findings"][0]["message"] == f"{file} cannot be run: there is one mistake in it."
    assert answer["findings"][0]["evidence"] == ["spec.tfReplicaSpec: unknown field"]
    file.write_text(json.dumps(job))
    assert (await person.asks("explain", str(file)))["findings"][0]["cause"] == "NotSubmitted"
    await stage.submit({"suspend": True})
    await stage.until_state("Suspended")
    assert (await person.asks("explain", str(file)))["state"] == "Suspended"


async def test_who_may_not_see_everything_is_told_so_and_gets_an_answer(
    stage: Stage, crds: Cluster, tmp_path: Path
) -> None:
    await stage.submit()
    await stage.run_all()
    await stage.until_state("Running")
    limited = Person(reader(crds, stage.namespace, tmp_path), stage.namespace)
    result = await limited.says("explain", stage.name)
    assert "runs as it should" in result.stdout.replace("\n", " ")
    assert [line[:40] for line in result.stderr.splitlines()] == [
        "trainop: you cannot see events: events i",
        "trainop: you cannot see resourcequotas: ",
    ]
