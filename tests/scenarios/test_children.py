"""What the pods and services of a job look like, and what users are told of them. kubeflow-v1 §4; DECISIONS."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.crashing import Ledger, operator
from tests.scenarios.casting import PARTS
from tests.scenarios.stage import Cast, Stage
from trainop.framework import Framework
from trainop.kube.port import Raw
from trainop.model import Settings


@pytest.fixture(params=["TFJob"])
def cast(request: pytest.FixtureRequest, known: dict[str, Framework[Any]]) -> Cast:
    return Cast(known[request.param], **PARTS[request.param])


BOTH = pytest.mark.parametrize("cast", ["TFJob", "MXJob"], indirect=True)


def template(stage: Stage, spec: Raw | None = None, metadata: Raw | None = None, **container: Any) -> Raw:
    mine = {"name": stage.cast.framework.container, "image": "train", **container}
    pod: Raw = {"spec": {"containers": [mine], **(spec or {})}}
    return {"template": pod | ({"metadata": metadata} if metadata else {})}


def env(pod: Raw, container: int = 0) -> dict[str, str]:
    """Of a container; fails when a name is there twice."""
    entries = pod["spec"]["containers"][container].get("env", [])
    found = {entry["name"]: entry["value"] for entry in entries}
    assert len(found) == len(entries), entries
    return found


async def made(stage: Stage) -> dict[str, Raw]:
    await stage.until_pods_are(stage.children())
    await stage.until_services_are(stage.children())
    return await stage.pods()


@BOTH
async def test_a_pod_is_the_template_with_name_labels_owner_port_and_restart_policy(stage: Stage) -> None:
    role, framework = stage.cast.server, stage.cast.framework
    written = template(
        stage,
        spec={"restartPolicy": "Always", "schedulerName": "own", "hostNetwork": True, "hostname": "h"},
        metadata={"labels": {"team": "vision"}, "annotations": {"note": "kept"}},
    )
    await stage.submit(**{role: written | {"restartPolicy": "ExitCode"}})
    pod = (await made(stage))[stage.child(role)]
    job = await stage.job()
    assert pod["metadata"]["labels"] == {
        "team": "vision",
        "training.kubeflow.org/operator-name": framework.controller,
        "training.kubeflow.org/job-name": stage.name,
        "training.kubeflow.org/replica-type": role.lower(),
        "training.kubeflow.org/replica-index": "0",
    }
    template_hash = pod["metadata"]["annotations"].pop("training.kubeflow.org/template-hash")
    assert pod["metadata"]["annotations"] == {"note": "kept"}
    assert re.fullmatch("[0-9a-f]{16}", template_hash)
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)
    spec = pod["spec"]
    assert (spec["restartPolicy"], spec["schedulerName"], spec["hostNetwork"]) == ("Never", "own", True)
    (port,) = spec["containers"][0]["ports"]
    assert (port["name"], port["containerPort"]) == (framework.port_name, framework.port)
    await stage.until_told(
        "SettedPodTemplateRestartPolicy",
        "Restart policy in pod template will be overwritten by restart policy in replica spec",
    )


@BOTH
async def test_the_deciding_member_is_labelled_master(stage: Stage) -> None:
    await stage.submit()
    roles = {
        n: p["metadata"]["labels"].get("training.kubeflow.org/job-role")
        for n, p in (await made(stage)).items()
    }
    assert {name for name, role in roles.items() if role == "master"} == {stage.child(stage.cast.decider)}


@BOTH
async def test_without_a_leading_role_worker_0_is_labelled_master(stage: Stage) -> None:
    stage = stage.casting(replicas={"Worker": 2})
    await stage.submit()
    roles = {
        n: p["metadata"]["labels"].get("training.kubeflow.org/job-role")
        for n, p in (await made(stage)).items()
    }
    assert roles == {stage.child("Worker", 0): "master", stage.child("Worker", 1): None}


async def test_services_keep_protocols_and_the_order_of_ports_and_show_members_before_they_are_ready(
    stage: Stage,
) -> None:
    ports = [
        {"name": "gossip", "containerPort": 7000, "protocol": "UDP"},
        {"name": "tfjob-port", "containerPort": 3333},
        {"name": "http", "containerPort": 80, "protocol": "TCP"},
    ]
    await stage.submit(PS=template(stage, ports=ports))
    await made(stage)
    service = (await stage.services())[stage.child("PS")]
    spec = service["spec"]
    assert [(p["name"], p["port"], p["protocol"]) for p in spec["ports"]] == [
        ("gossip", 7000, "UDP"),
        ("tfjob-port", 3333, "TCP"),
        ("http", 80, "TCP"),
    ]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == service["metadata"]["labels"]
    assert json.loads(env((await stage.pods())[stage.child("Worker")])["TF_CONFIG"])["cluster"]["ps"] == [
        f"{stage.child('PS')}.{stage.namespace}.svc:3333"
    ]


# --- the environment -----------------------------------------------------------------------------------------------


async def test_tf_config_names_the_whole_cluster_and_the_task(stage: Stage) -> None:
    await stage.submit()
    pods, at = await made(stage), f"{stage.namespace}.svc:2222"
    name = stage.name
    assert env(pods[stage.child("Worker", 1)]) == {
        "TF_CONFIG": (
            f'{{"cluster":{{"chief":["{name}-chief-0.{at}"],"ps":["{name}-ps-0.{at}"],'
            f'"worker":["{name}-worker-0.{at}","{name}-worker-1.{at}"]}},'
            '"task":{"type":"worker","index":1},"environment":"cloud"}'
        )
    }


async def test_tf_config_of_dynamic_workers_names_the_ps_and_the_worker_itself(stage: Stage) -> None:
    stage = stage.casting(replicas={"PS": 1, "Worker": 2}, fields={"enableDynamicWorker": True})
    await stage.submit()
    pods, at = await made(stage), f"{stage.namespace}.svc:2222"
    assert env(pods[stage.child("Worker", 1)]) == {
        "TF_CONFIG": (
            f'{{"cluster":{{"worker":{{"1":"{stage.name}-worker-1.{at}"}},"ps":["{stage.name}-ps-0.{at}"]}},'
            '"task":{"type":"worker","index":1}}'
        )
    }


async def test_a_dynamic_worker_that_is_added_knows_itself_and_nobody_else_is_touched(stage: Stage) -> None:
    stage = stage.casting(replicas={"PS": 1, "Worker": 2}, fields={"enableDynamicWorker": True})
    await stage.submit()
    before = await made(stage)
    await stage.edit({"tfReplicaSpecs": {"Worker": {"replicas": 3}}})
    added = stage.child("Worker", 2)
    await stage.until_pods_are([*stage.children(), added])
    after = await stage.pods()
    cluster = json.loads(env(after[added])["TF_CONFIG"])["cluster"]
    assert cluster["worker"] == {"2": f"{added}.{stage.namespace}.svc:2222"}
    assert {name: after[name]["metadata"]["uid"] for name in before} == {
        name: pod["metadata"]["uid"] for name, pod in before.items()
    }


async def test_a_single_member_gets_no_tf_config(stage: Stage) -> None:
    stage = stage.casting(replicas={"Worker": 1})
    await stage.submit()
    assert env((await made(stage))[stage.child("Worker")]) == {}


async def test_names_end_with_the_clusters_own_domain(apart: Stage) -> None:
    framework = apart.cast.framework
    settings = Settings(cluster_domain="example.org")
    async with operator(
        apart.operators_way,
        {framework.gvk: framework},
        Ledger(),
        namespace=apart.namespace,
        settings=settings,
    ):
        await apart.submit()
        config = json.loads(env((await made(apart))[apart.child("PS")])["TF_CONFIG"])
    assert config["cluster"]["ps"] == [f"job-ps-0.{apart.namespace}.svc.example.org:2222"]


@pytest.mark.parametrize("cast", ["MXJob"], indirect=True)
async def test_every_container_of_an_mxjob_gets_mx_config_and_dmlc(stage: Stage) -> None:
    worker = template(stage)
    worker["template"]["spec"]["containers"].append({"name": "logs", "image": "logs"})
    await stage.submit(Worker=worker)
    pod, name = (await made(stage))[stage.child("Worker", 1)], stage.name
    cluster = {
        "scheduler": [{"url": f"{name}-scheduler-0", "port": 9091}],
        "server": [{"url": f"{name}-server-0", "port": 9091}],
        "worker": [{"url": f"{name}-worker-{i}", "port": 9091} for i in range(2)],
    }
    wanted = {
        "MX_CONFIG": {
            "cluster": cluster,
            "labels": {"scheduler": "", "server": "", "worker": ""},
            "task": {"type": "worker", "index": 1},
        },
        "DMLC_PS_ROOT_PORT": "9091",
        "DMLC_PS_ROOT_URI": f"{name}-scheduler-0",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": "2",
        "DMLC_ROLE": "worker",
        "DMLC_USE_KUBERNETES": "1",
        "DMLC_WORKER_ID": "1",
    }
    for container in (0, 1):
        found = env(pod, container)
        assert found | {"MX_CONFIG": json.loads(found["MX_CONFIG"])} == wanted


@BOTH
async def test_a_variable_of_ours_wins_once_and_a_warning_tells(stage: Stage) -> None:
    name = "TF_CONFIG" if stage.cast.kind == "TFJob" else "MX_CONFIG"
    entries = [
        {"name": "BEFORE", "value": "1"},
        {"name": name, "value": "mine"},
        {"name": "AFTER", "value": "2"},
    ]
    await stage.submit(Worker=template(stage, env=entries))
    found = env((await made(stage))[stage.child("Worker")])
    assert (found["BEFORE"], found["AFTER"]) == ("1", "2")
    assert found[name].startswith("{")
    await stage.until_told(
        "OverwroteEnvironment",
        f"{name} in container {stage.cast.framework.container} of Worker is set by the operator; "
        "the value in the pod template is not used",
    )


# --- members -------------------------------------------------------------------------------------------------------


@BOTH
async def test_a_role_of_no_replicas_has_no_pod(stage: Stage) -> None:
    role = stage.cast.server
    await stage.submit(**{role: {"replicas": 0}})
    others = [other for other in stage.cast.replicas if other != role]
    await stage.run_all(*others)
    await stage.until_state("Running")
    assert sorted(await stage.pods()) == stage.children(*others)
    await stage.exit_all(stage.cast.decider)
    await stage.until_state("Succeeded")


async def test_roles_may_be_written_in_any_letter_case(stage: Stage) -> None:
    stage = stage.casting(replicas={"chief": 1, "pS": 1, "WORKER": 1}, decider="chief")
    await stage.submit()
    await stage.run_all()
    job = await stage.until_state("Running")
    assert set(job["status"]["replicaStatuses"]) == {"Chief", "PS", "Worker"}


async def test_more_than_four_children_of_a_role_are_told_in_one_line(stage: Stage) -> None:
    stage = stage.casting(replicas={"Chief": 1, "PS": 4, "Worker": 5})
    await stage.submit()
    await made(stage)
    first, last = stage.child("Worker", 0), stage.child("Worker", 4)
    await stage.until_told("SuccessfulCreatePod", f"Created pods: {first} … {last} (5)")
    await stage.until_told("SuccessfulCreateService", f"Created services: {first} … {last} (5)")
    for index in range(4):
        await stage.until_told("SuccessfulCreatePod", f"Created pod: {stage.child('PS', index)}")


async def test_replica_statuses_say_how_to_select_the_pods_of_a_role(stage: Stage) -> None:
    await stage.submit()
    await stage.run_all()
    roles = (await stage.until_state("Running"))["status"]["replicaStatuses"]
    assert roles["Worker"]["selector"] == (
        f"training.kubeflow.org/job-name={stage.name},"
        "training.kubeflow.org/operator-name=tfjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
