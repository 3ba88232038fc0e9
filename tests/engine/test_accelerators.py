"""What containers get that ask for an accelerator. legacy §2.8, C4; DECISIONS `GPU name`."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import MX, TF, Raw, a_job, a_template
from trainop.engine import accelerators, gang, pods
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import Accelerator, HostVolume, Settings

OLD, NEW = "alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu"
AZURE = Accelerator(
    OLD,
    (
        HostVolume("lib", "/usr/lib/nvidia", "/usr/lib/nvidia-384"),
        HostVolume("bin", "/usr/local/nvidia/bin", "/usr/lib/nvidia-384/bin"),
    ),
    (("LD_LIBRARY_PATH", "/usr/lib/nvidia"),),
)
SETTINGS = Settings(accelerators=(AZURE,))
LIB = {"name": "lib", "hostPath": {"path": "/usr/lib/nvidia-384"}}
BIN = {"name": "bin", "hostPath": {"path": "/usr/lib/nvidia-384/bin"}}
MOUNTS = [
    {"name": "lib", "mountPath": "/usr/lib/nvidia"},
    {"name": "bin", "mountPath": "/usr/local/nvidia/bin"},
]
ENV = [{"name": "LD_LIBRARY_PATH", "value": "/usr/lib/nvidia"}]


def asking(field: str = "limits", resource: str = OLD, **more: Any) -> Raw:
    return {"name": "tensorflow", "image": "train:1", "resources": {field: {resource: 1}}, **more}


def fitted(container: Raw, settings: Settings = SETTINGS, **spec: Any) -> Raw:
    written = {"containers": [container], **spec}
    before = copy.deepcopy(written)
    made = accelerators.fitted(settings, "tensorflow", written)
    assert written == before
    return made


@pytest.mark.parametrize("field", ["limits", "requests"])
def test_a_container_that_asks_gets_volumes_mounts_and_variables(field: str) -> None:
    made = fitted(asking(field))
    assert made["volumes"] == [LIB, BIN]
    assert made["containers"][0]["volumeMounts"] == MOUNTS
    assert made["containers"][0]["env"] == ENV


def test_settings_with_accelerators_can_be_a_key() -> None:
    assert hash(SETTINGS) == hash(Settings(accelerators=(AZURE,)))


def test_asking_in_both_limits_and_requests_gets_them_once_whatever_the_amount() -> None:
    made = fitted(asking(resources={"limits": {OLD: 0}, "requests": {OLD: 0}}))
    assert (made["volumes"], made["containers"][0]["env"]) == ([LIB, BIN], ENV)


def test_other_resources_and_other_containers_get_nothing() -> None:
    beside = {"name": "sidecar", "image": "s", "resources": {"limits": {OLD: 1}}}
    spec = {"containers": [{"name": "tensorflow", "resources": {"limits": {"cpu": 1, NEW: 1}}}, beside]}
    made = accelerators.fitted(SETTINGS, "tensorflow", spec)
    assert made["containers"] == [
        spec["containers"][0],
        {**beside, "resources": {"limits": {NEW: 1}}},
    ]
    assert "volumes" not in made


def test_what_the_user_mounts_and_sets_is_not_there_twice() -> None:
    """Seed 001 shows a job that mounts the drivers by hand; it runs on such a cluster, too."""
    own = {"name": "drivers", "hostPath": {"path": "/usr/lib/nvidia-384"}}
    env = [{"name": "LD_LIBRARY_PATH", "value": "/mine"}]
    mounts = [{"name": "drivers", "mountPath": "/usr/lib/nvidia", "readOnly": True}]
    made = fitted(asking(env=env, volumeMounts=mounts), volumes=[own])
    assert made["volumes"] == [own, BIN]
    assert made["containers"][0]["volumeMounts"] == [*mounts, MOUNTS[1]]
    assert made["containers"][0]["env"] == env


def test_fitting_twice_changes_nothing_more() -> None:
    settings = replace(SETTINGS, rename_gpu=False)
    once = fitted(asking(), settings)
    assert accelerators.fitted(settings, "tensorflow", once) == once


def test_a_volume_of_the_user_that_only_has_the_same_name_stays_what_it_is() -> None:
    own = {"name": "lib", "emptyDir": {}}
    made = fitted(asking(), volumes=[own])
    assert made["volumes"] == [own, {**LIB, "name": "accelerator-lib"}, BIN]
    assert made["containers"][0]["volumeMounts"][0] == {**MOUNTS[0], "name": "accelerator-lib"}


def test_the_old_name_of_a_gpu_becomes_the_new_one_in_every_container() -> None:
    made = accelerators.fitted(
        Settings(), "tensorflow", {"containers": [asking()], "initContainers": [asking(name="first")]}
    )
    for field in ("containers", "initContainers"):
        assert made[field][0]["resources"] == {"limits": {NEW: 1}}


def test_the_new_name_wins_where_a_container_has_both() -> None:
    made = fitted(asking(resources={"limits": {OLD: 1, NEW: 2, "cpu": 3}}))
    assert made["containers"][0]["resources"] == {"limits": {NEW: 2, "cpu": 3}}


def test_the_old_name_is_kept_where_the_operator_was_told_so() -> None:
    made = fitted(asking(), replace(SETTINGS, rename_gpu=False))
    assert made["containers"][0]["resources"] == {"limits": {OLD: 1}}


def test_a_request_for_an_extended_resource_alone_is_a_limit_as_well() -> None:
    requests = {OLD: 1, "example.org/fpga": 2, "cpu": 3, "memory": "1Gi"}
    made = fitted(asking(resources={"requests": requests, "limits": {"example.org/fpga": 2, "cpu": 4}}))
    assert made["containers"][0]["resources"] == {
        "requests": {NEW: 1, "example.org/fpga": 2, "cpu": 3, "memory": "1Gi"},
        "limits": {NEW: 1, "example.org/fpga": 2, "cpu": 4},
    }


def test_resources_that_are_none_do_not_stop_anybody() -> None:
    for resources in (None, "much", {"limits": None}, {"limits": ["a"], "claims": [{"name": "gpu"}]}):
        container = {"name": "tensorflow", "resources": resources}
        assert fitted(container)["containers"] == [container]


@pytest.mark.parametrize("framework", [TF, MX], ids=["TF", "MX"])
def test_members_of_every_kind_get_them_before_what_the_framework_tells(framework: Framework[Any]) -> None:
    """C4: TF_CONFIG stands last."""
    template = a_template(framework.container, resources={"requests": {OLD: 1}})
    job = a_job(framework, Worker={"template": template})
    [me] = topology(framework, job)
    pod = pods.manifest(framework, job, me, {"TF_CONFIG": "{}"}, SETTINGS)
    [container] = pod["spec"]["containers"]
    assert container["env"] == [*ENV, {"name": "TF_CONFIG", "value": "{}"}]
    assert container["resources"]["limits"] == {NEW: 1}
    assert pod["spec"]["volumes"] == [LIB, BIN]


def test_a_pod_group_asks_for_what_its_pods_ask_for() -> None:
    job = a_job(TF, Worker={"replicas": 2, "template": a_template(resources={"limits": {OLD: 1}})})
    for rename, name in ((True, NEW), (False, OLD)):
        scheduler = gang.needed(Settings(gang_scheduler="volcano", rename_gpu=rename))
        assert gang.manifest(scheduler, job)["spec"]["minResources"] == {name: "2"}
