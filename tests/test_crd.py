"""The CRDs: what is in crds/, that kubectl and the API server take them, and what users see through them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from tests.cluster.controlplane import Cluster, Refused
from tests.cluster.shared import CRDS
from trainop import registry
from trainop.api.spec import JobSpec
from trainop.crd import crd
from trainop.errors import BrokenFramework
from trainop.framework import Role

SAMPLES = sorted((Path(__file__).parent / "data" / "seed004").glob("*.yaml"))
ANNOTATION_LIMIT = 256 * 1024
NAMES = list(registry.by_name())
POD = {"spec": {"containers": [{"name": "tensorflow", "image": "train"}]}}
SPEC = {"tfReplicaSpecs": {"Worker": {"replicas": 2, "template": POD}}}
TFJOB = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "mnist"}, "spec": SPEC}

# As the old operator leaves it: with what we do not write, and null for what it has not set.
OLD_STATUS = {
    "conditions": [
        {
            "type": "Created",
            "status": "True",
            "reason": "TFJobCreated",
            "message": "TFJob mnist is created.",
            "lastUpdateTime": "2023-07-16T02:44:38Z",
            "lastTransitionTime": "2023-07-16T02:44:38Z",
        },
        {
            "type": "Running",
            "status": "True",
            "reason": "TFJobRunning",
            "message": "TFJob default/mnist is running.",
            "lastUpdateTime": None,
            "lastTransitionTime": None,
        },
    ],
    "replicaStatuses": {
        "PS": {},
        "Worker": {
            "active": 1,
            "labelSelector": {"matchLabels": {"training.kubeflow.org/job-name": "mnist"}},
            "selector": "training.kubeflow.org/job-name=mnist",
        },
    },
    "startTime": "2023-07-16T02:44:38Z",
    "completionTime": None,
    "lastReconcileTime": "2023-07-16T02:44:39Z",
}


def without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [without_nulls(item) for item in value]
    return value


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = crd(registry.by_name()[name])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field, with its path."""
    for name, below in schema.get("properties", {}).items():
        yield f"{path}.{name}", below
        yield from fields(below, f"{path}.{name}")
    for values in ("items", "additionalProperties"):
        if values in schema:
            yield from fields(schema[values], f"{path}[]")


def test_the_files_in_crds_are_what_make_crds_would_write(tmp_path: Path) -> None:
    # Another process, because this one may know frameworks that exist only in tests.
    trainop = str(Path(sys.executable).with_name("trainop"))
    command = [trainop, "crds", "--output-dir", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    stored = {path.name: path.read_text() for path in CRDS.iterdir()}
    assert fresh == stored, "run `make crds`"


@pytest.mark.parametrize("name", NAMES)
def test_a_crd_fits_into_the_annotation_of_kubectl_apply_with_room_to_spare(name: str) -> None:
    compact = json.dumps(crd(registry.by_name()[name]), separators=(",", ":"))
    assert len(compact) < ANNOTATION_LIMIT * 0.6


@pytest.mark.parametrize("name", NAMES)
def test_older_versions_are_served_and_take_anything_and_one_version_is_stored(name: str) -> None:
    framework = registry.by_name()[name]
    first, *older = crd(framework)["spec"]["versions"]
    assert (first["name"], first["storage"]) == (framework.version, True)
    assert "deprecated" not in first
    assert [version["name"] for version in older] == list(framework.older_versions)
    for version in older:
        assert (version["served"], version["storage"], version["deprecated"]) == (True, False, True)
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        assert all(properties[field]["x-kubernetes-preserve-unknown-fields"] for field in ("spec", "status"))


@pytest.mark.parametrize("name", NAMES)
def test_two_calls_make_the_same_crd_and_share_nothing(name: str) -> None:
    framework = registry.by_name()[name]
    first, second = crd(framework), crd(framework)
    assert first == second
    first["spec"]["versions"][0]["additionalPrinterColumns"][0]["name"] = "changed"
    for _, field in fields(first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]):
        field.setdefault("enum", []).append("changed")
    assert crd(framework) == second


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_description(name: str) -> None:
    bare = [path for path, field in fields(schema(name)) if not field.get("description")]
    assert bare == [".metadata", ".metadata.name"]  # the API server describes these itself


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_of_pydantics_dialect(name: str) -> None:
    text = json.dumps(schema(name))
    for word in ("$ref", "$defs", '"null"', "x-trainop", '"title"', '"const"'):
        assert word not in text


@pytest.mark.parametrize("name", NAMES)
def test_only_suspend_has_a_default_that_is_stored(name: str) -> None:
    defaults = {path: field["default"] for path, field in fields(schema(name)) if "default" in field}
    assert defaults == {".spec.runPolicy.suspend": False}


def test_kinds_of_numbers() -> None:
    found = dict(fields(schema("tensorflow")))
    assert found[".spec.runPolicy.activeDeadlineSeconds"]["format"] == "int64"
    assert found[".spec.runPolicy.backoffLimit"]["format"] == "int32"
    assert found[".status.startTime"]["format"] == "date-time"
    resources = found[".spec.runPolicy.schedulingPolicy.minResources"]
    assert resources["additionalProperties"]["x-kubernetes-int-or-string"] is True


def test_applying_the_folder_again_changes_nothing(crds: Cluster) -> None:
    lines = crds.run("apply", "-f", str(CRDS)).splitlines()
    assert lines
    assert all(line.endswith(" unchanged") for line in lines), lines


def test_explain_tells_about_roles_and_pods(crds: Cluster) -> None:
    roles = crds.run("explain", "tfjob.spec.tfReplicaSpecs")
    assert "The roles Chief (or Master), PS, Worker and Evaluator, in any letter case." in roles
    assert "enum: Always, OnFailure, Never, ExitCode" in roles
    assert "Same as pod.spec" in crds.run("explain", "mxjob.spec.mxReplicaSpecs.template")


@pytest.fixture
def mnist(crds: Cluster, namespace: str) -> Mnist:
    return Mnist(crds, namespace)


class Mnist:
    """A TFJob in a namespace of its own, and kubectl."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace
        self.run("apply", "-f", "-", stdin=TFJOB)

    def run(self, *words: str, stdin: object = None) -> str:
        return self._cluster.run("-n", self._namespace, *words, stdin=json.dumps(stdin))

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("get", "tfjob", "mnist", "-o", "json"))
        return found

    def set_status(self, status: object) -> None:
        """Replaces it, as the old operator does; a patch would drop what is null by itself."""
        job = {**self.read(), "status": status}
        self.run("replace", "--subresource=status", "--validate=strict", "-f", "-", stdin=job)

    def patch(self, spec: object) -> None:
        self.run("patch", "tfjob", "mnist", "--type=merge", "-p", json.dumps({"spec": spec}))


def test_a_status_as_the_old_operator_writes_it_is_taken_as_it_is(mnist: Mnist) -> None:
    mnist.set_status(OLD_STATUS)
    assert mnist.read()["status"] == without_nulls(OLD_STATUS)


def test_get_shows_state_progress_and_age_and_more_when_wide(mnist: Mnist) -> None:
    mnist.set_status({**OLD_STATUS, "progress": "1/2", "restartCount": 3})
    header, row = (line.split() for line in mnist.run("get", "tfjobs").splitlines())
    assert header == ["NAME", "STATE", "PROGRESS", "AGE"]
    assert row[:3] == ["mnist", "Running", "1/2"]
    header, row = (line.split() for line in mnist.run("get", "tfjobs", "-o", "wide").splitlines())
    assert header[3:] == ["AGE", "RESTARTS", "MESSAGE"]
    assert row[4:] == ["3", "TFJob", "default/mnist", "is", "running."]


def test_workers_are_scaled_and_counted(mnist: Mnist) -> None:
    mnist.set_status(OLD_STATUS)
    mnist.run("scale", "tfjob", "mnist", "--replicas=5")
    assert mnist.read()["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 5
    scale = json.loads(mnist.run("get", "tfjob", "mnist", "--subresource=scale", "-o", "json"))
    assert scale["spec"]["replicas"] == 5
    assert scale["status"] == {"replicas": 1, "selector": "training.kubeflow.org/job-name=mnist"}


def test_scaling_the_deciding_role_to_zero_is_refused(mnist: Mnist) -> None:
    with pytest.raises(Refused, match="needs at least one replica"):
        mnist.run("scale", "tfjob", "mnist", "--replicas=0")


def test_the_manager_of_a_job_stays(mnist: Mnist) -> None:
    with pytest.raises(Refused, match=r"spec.runPolicy.managedBy: Invalid value: .*: field is immutable"):
        mnist.patch({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})
    mnist.patch({"runPolicy": {"managedBy": "", "suspend": True}})


def test_the_queue_of_a_job_stays_once_it_is_set(mnist: Mnist) -> None:
    mnist.patch({"runPolicy": {"schedulingPolicy": {"queue": "a"}}})
    with pytest.raises(Refused, match=r"spec.runPolicy.schedulingPolicy.queue is immutable"):
        mnist.patch({"runPolicy": {"schedulingPolicy": {"queue": "b"}}})
    mnist.patch({"runPolicy": {"schedulingPolicy": {"queue": "a", "minAvailable": 1}}})


def test_applying_a_job_twice_changes_nothing(mnist: Mnist) -> None:
    before = mnist.read()
    assert "unchanged" in mnist.run("apply", "-f", "-", stdin=TFJOB)
    assert mnist.read() == before


def test_a_field_that_nobody_knows_is_refused_by_kubectl(mnist: Mnist) -> None:
    typo = {**TFJOB, "spec": {**SPEC, "runPolcy": {}}}
    with pytest.raises(Refused, match=r'unknown field "spec\.runPolcy"'):
        mnist.run("apply", "-f", "-", stdin=typo)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_sample_jobs_are_taken_as_they_are(crds: Cluster, namespace: str, path: Path) -> None:
    sample = yaml.safe_load(path.read_text())
    sample["metadata"]["namespace"] = namespace
    made = json.loads(crds.run("create", "-o", "json", "-f", "-", stdin=json.dumps(sample)))
    assert made["spec"] == sample["spec"]


def test_a_framework_of_twenty_roles_is_within_the_api_servers_cost_limits(crds: Cluster) -> None:
    roles = tuple(Role(f"Role{number}", decides=number) for number in range(1, 21))
    wide = replace(registry.by_name()["tensorflow"], plural="widejobs", kind="WideJob", roles=roles)
    crds.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(crd(wide)))


def test_only_a_framework_with_workers_can_be_scaled() -> None:
    framework = registry.by_name()["tensorflow"]
    for roles, scalable in ((framework.roles, True), ((Role("Singer", decides=1),), False)):
        versions = crd(replace(framework, roles=roles))["spec"]["versions"]
        assert [("scale" in version["subresources"]) for version in versions] == [scalable] * len(versions)


def test_short_names_are_those_of_the_framework() -> None:
    framework = registry.by_name()["tensorflow"]
    assert crd(framework)["spec"]["names"]["shortNames"] == ["tfj"]
    assert "shortNames" not in crd(replace(framework, short_names=()))["spec"]["names"]


def test_a_field_that_a_crd_cannot_describe_is_named() -> None:
    class Odd(JobSpec):
        oddity: int | list[str] = Field(0, description="Either.")

    with pytest.raises(BrokenFramework, match=r"the framework tensorflow has no CRD: .* 'oddity' may be"):
        crd(replace(registry.by_name()["tensorflow"], spec=Odd))
