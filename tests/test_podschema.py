"""Tests that the pod template schema takes what a Pod takes, and that the API server takes the schema."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from trainop.podschema import pod_template_schema

CRD_NAME = "holders.podschema.example.com"
TRAINING_RULE = (
    "self.all(role, !has(self[role].template.spec) || self[role].template.spec.containers.exists(c,"
    " c.name == 'trainer' && (!has(c.ports) || c.ports.all(p, !has(p.name) || p.name != 'reserved'))))"
)
EMBEDDED_METADATA = {"annotations", "creationTimestamp", "finalizers", "labels", "name", "namespace"}

RICH_TEMPLATE = """
metadata:
  labels: {app: train}
  annotations: {note: "1"}
  finalizers: [example.com/keep]
spec:
  activeDeadlineSeconds: 3000000
  hostAliases: [{ip: 10.0.0.1, hostnames: [a.example.com]}]
  dnsConfig: {options: [{name: ndots, value: "2"}]}
  imagePullSecrets: [{name: registry}]
  nodeSelector: {pool: gpu}
  overhead: {cpu: 250m}
  priorityClassName: high
  readinessGates: [{conditionType: example.com/ready}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  restartPolicy: Always
  schedulerName: gang
  schedulingGates: [{name: example.com/quota}]
  terminationGracePeriodSeconds: 30
  securityContext:
    fsGroup: 3000000
    supplementalGroups: [2000]
    seccompProfile: {type: RuntimeDefault}
    sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]
  tolerations:
  - {key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: train}}
    matchLabelKeys: [version]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: In, values: [a100]}]}]
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 5
        podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: train}}}
  initContainers:
  - name: logs
    image: logs
    restartPolicy: Always
    startupProbe: {exec: {command: [ready]}}
  containers:
  - name: trainer
    image: train
    command: [python]
    args: [train.py, "$(RANK)"]
    ports: [{name: work, containerPort: 2222}, {containerPort: 53, protocol: UDP}]
    envFrom: [{prefix: C_, configMapRef: {name: settings, optional: true}}]
    env:
    - {name: RANK, value: "0"}
    - {name: EMPTY}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: CORES, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1}}}
    - {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: id}}}
    resources:
      limits: {cpu: 2, memory: 1.5Gi, nvidia.com/gpu: 1}
      requests: {cpu: 500m, memory: 1e9, nvidia.com/gpu: "1"}
      claims: [{name: gpu}]
    livenessProbe: {httpGet: {path: /live, port: work, httpHeaders: [{name: A, value: b}]}, periodSeconds: 5}
    readinessProbe: {tcpSocket: {port: 2222}, initialDelaySeconds: 1}
    startupProbe: {grpc: {port: 2222, service: up}, failureThreshold: 3}
    lifecycle: {preStop: {sleep: {seconds: 5}}}
    securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK], drop: [ALL]}}
    volumeMounts:
    - {name: data, mountPath: /data, subPathExpr: $(RANK), readOnly: true}
    - {name: shm, mountPath: /dev/shm}
    volumeDevices: [{name: block, devicePath: /dev/block}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: block, persistentVolumeClaim: {claimName: block}}
  - {name: shm, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
  - {name: bytes, emptyDir: {sizeLimit: 1000}}
  - {name: nothing, emptyDir: {}}
  - {name: host, hostPath: {path: /opt, type: Directory}}
  - {name: settings, configMap: {name: settings, defaultMode: 0444, items: [{key: a, path: b, mode: 256}]}}
  - {name: keys, secret: {secretName: keys, optional: true}}
  - {name: files, nfs: {server: nfs.example.com, path: /}}
  - {name: csi, csi: {driver: csi.example.com, volumeAttributes: {a: b}}}
  - {name: self, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: model, image: {reference: model, pullPolicy: IfNotPresent}}
  - name: many
    projected:
      sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600, audience: a}
      - configMap: {name: settings}
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {a: b}}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
"""
SINCE_1_31 = {"template.spec.resourceClaims[0].resourceClaimTemplateName", "template.spec.volumes[11].image"}
"""What an older server does not know of it."""


class ControlPlane(Protocol):
    """What these tests use of the control_plane fixture."""

    @property
    def kubeconfig(self) -> Path: ...

    @property
    def kubectl(self) -> Path: ...


def kubectl(cluster: ControlPlane, *arguments: str, stdin: object = None) -> subprocess.CompletedProcess[str]:
    command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, input=json.dumps(stdin), capture_output=True, text=True, check=False)  # noqa: S603 - kubectl


def kubectl_json(cluster: ControlPlane, *arguments: str, stdin: object = None) -> Any:
    result = kubectl(cluster, *arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def holder_crd() -> dict[str, Any]:
    """A CRD that holds templates the way the job kinds do: by role, under a CEL rule over containers."""
    role = {"type": "object", "properties": {"template": pod_template_schema()}, "required": ["template"]}
    roles = {
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": role,
        "x-kubernetes-validations": [{"rule": TRAINING_RULE, "message": "no container is named trainer"}],
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"roles": roles}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {
            "group": "podschema.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Holder", "plural": "holders"},
            "versions": [version],
        },
    }


def holder(template: object, name: str = "sample") -> dict[str, Any]:
    return {
        "apiVersion": "podschema.example.com/v1",
        "kind": "Holder",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"roles": {"Worker": {"template": template}}},
    }


def pod_template(template: object) -> dict[str, Any]:
    """The built-in kind that validates a template like a Pod, without the admission that needs a node."""
    metadata = {"name": "sample", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": template}


def crd_conditions(cluster: ControlPlane) -> set[str]:
    """The conditions of the CRD of this module that are true."""
    crd = kubectl_json(cluster, "get", "crd", CRD_NAME, "-o", "json")
    conditions = crd.get("status", {}).get("conditions") or []
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the CRD of this module, put there by client-side apply as users do it."""
    applied = kubectl(control_plane, "apply", "-f", "-", stdin=holder_crd())
    assert applied.returncode == 0, applied.stderr
    deadline = time.monotonic() + 30
    # Not `kubectl wait`, which fails on a CRD so new that it has no conditions yet.
    while "Established" not in crd_conditions(control_plane):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield control_plane
    kubectl(control_plane, "delete", "crd", CRD_NAME, "--wait=false")


def test_size_leaves_room_for_a_crd_in_one_annotation() -> None:
    assert len(json.dumps(pod_template_schema(), separators=(",", ":"))) < 120_000


def test_every_call_returns_the_same_text_and_shares_nothing() -> None:
    first, second = pod_template_schema(), pod_template_schema()
    assert json.dumps(first) == json.dumps(second)
    first["properties"]["spec"]["properties"]["containers"]["x-kubernetes-list-map-keys"].append("image")
    assert pod_template_schema() == second
    assert not re.search(r"[&*]id\d", yaml.safe_dump(second))


def test_the_client_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, trainop.podschema; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


def test_every_property_has_a_short_description() -> None:
    for path, schema in properties(pod_template_schema()):
        assert schema["description"] == f"Same as pod.{path}"


def properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in schema.get("properties", {}).items():
        below = f"{path}.{name}".lstrip(".")
        yield below, value
        yield from properties(value.get("items", value), below)


def at(path: str) -> dict[str, Any]:
    return dict(properties(pod_template_schema()))[path]


@pytest.mark.parametrize("path", ["metadata", "spec.volumes.ephemeral.volumeClaimTemplate.metadata"])
def test_embedded_metadata_is_small_and_requires_nothing(path: str) -> None:
    metadata = at(path)
    assert set(metadata["properties"]) == EMBEDDED_METADATA
    assert "required" not in metadata


@pytest.mark.parametrize(
    ("path", "required"),
    [
        ("spec", ["containers"]),
        ("spec.containers", ["name"]),
        ("spec.containers.env", ["name"]),
        ("spec.containers.ports", ["containerPort"]),
        ("spec.containers.volumeMounts", ["mountPath", "name"]),
        ("spec.volumes", ["name"]),
        ("spec.volumes.emptyDir", None),
    ],
)
def test_required_is_what_the_pod_api_requires(path: str, required: list[str] | None) -> None:
    schema = at(path)
    assert schema.get("items", schema).get("required") == required


def test_quantities() -> None:
    schema = at("spec.containers.resources")["properties"]["limits"]["additionalProperties"]
    assert schema["x-kubernetes-int-or-string"] is True
    for quantity in ("1", "500m", "1.5Gi", ".5", "1.", "-1e3", "2E"):
        assert re.search(schema["pattern"], quantity)
    for wrong in ("", "1 Gi", "1gi", "1e", "1.5.5", "one"):
        assert not re.search(schema["pattern"], wrong)


def test_crd_is_accepted_as_structural(cluster: ControlPlane) -> None:
    assert crd_conditions(cluster) == {"Established", "NamesAccepted"}


def test_rich_template_is_a_valid_pod_template(cluster: ControlPlane) -> None:
    stdin = pod_template(yaml.safe_load(RICH_TEMPLATE))
    result = kubectl(cluster, "create", "--dry-run=server", "--validate=warn", "-f", "-", stdin=stdin)
    assert result.returncode == 0, result.stderr
    assert set(re.findall(r'unknown field "(.+?)"', result.stderr)) in (set(), SINCE_1_31)


def test_rich_template_survives_unchanged(cluster: ControlPlane) -> None:
    stdin = holder(yaml.safe_load(RICH_TEMPLATE), "rich")
    created = kubectl_json(cluster, "create", "--validate=strict", "-o", "json", "-f", "-", stdin=stdin)
    stored = kubectl_json(cluster, "get", "holder", "rich", "-o", "json")
    assert created["spec"] == stored["spec"] == stdin["spec"]


@pytest.mark.parametrize("command", [["apply"], ["apply", "--server-side"], ["create"]])
def test_null_creation_timestamp_passes_strict_validation(cluster: ControlPlane, command: list[str]) -> None:
    containers = [{"name": "trainer", "image": "train"}]
    template = {"metadata": {"creationTimestamp": None}, "spec": {"containers": containers}}
    stdin = holder(template, "-".join(command).replace("--", ""))
    result = kubectl(cluster, *command, "--validate=strict", "-f", "-", stdin=stdin)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "container",
    [
        {"name": "trainer", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        {"name": "trainer", "image": "i", "ports": [{"containerPort": 2222}, {"containerPort": 2222}]},
    ],
)
def test_duplicates_that_a_pod_accepts(cluster: ControlPlane, container: dict[str, Any]) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [container], "restartPolicy": "Always"},
    }
    for stdin in (pod_template(template), holder(template)):
        result = kubectl(cluster, "create", "--dry-run=server", "-f", "-", stdin=stdin)
        assert result.returncode == 0, result.stderr


def test_server_side_apply_merges_containers_by_name(cluster: ControlPlane) -> None:
    for manager, name in (("user", "trainer"), ("sidecars", "logs")):
        stdin = holder({"spec": {"containers": [{"name": name, "image": "i"}]}}, "merged")
        arguments = ["apply", "--server-side", "--validate=ignore", f"--field-manager={manager}", "-f", "-"]
        result = kubectl(cluster, *arguments, stdin=stdin)
        assert result.returncode == 0, result.stderr
    stored = kubectl_json(cluster, "get", "holder", "merged", "-o", "json")
    containers = stored["spec"]["roles"]["Worker"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["trainer", "logs"]


def flatten(schema: dict[str, Any], models: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yields (path, type) for a schema and all below it, with one spelling for ours and the server's.

    The type of an object includes the names of its required fields.
    """
    reference = schema.get("$ref", schema.get("allOf", [{}])[0].get("$ref", ""))
    if reference.endswith(".Quantity") or "pattern" in schema:
        yield path, "quantity"
    elif reference.endswith(".IntOrString") or "x-kubernetes-int-or-string" in schema:
        yield path, "int-or-string"
    elif reference:
        yield from flatten(models[reference.rpartition("/")[2]], models, path)
    else:
        required = ",".join(sorted(schema.get("required", [])))
        yield path, "/".join(filter(None, [schema["type"], schema.get("format"), required]))
        for name, value in schema.get("properties", {}).items():
            yield from flatten(value, models, f"{path}.{name}".lstrip("."))
        for key, suffix in (("items", "[]"), ("additionalProperties", "{}")):
            if key in schema:
                yield from flatten(schema[key], models, path + suffix)


def left_out(path: str) -> bool:
    # The API server owns most of metadata: a template only names and labels.
    if below_metadata := re.search(r"(^|\.)metadata\.(\w+)", path):
        return below_metadata[2] not in EMBEDDED_METADATA
    # A Pod cannot be created with ephemeral containers; the source of a claim was an alpha that ended with 1.30.
    return path.startswith(("spec.ephemeralContainers", "spec.resourceClaims[].source"))


def test_no_field_of_the_servers_pod_is_missing_or_of_another_type(cluster: ControlPlane) -> None:
    models = kubectl_json(cluster, "get", "--raw", "/openapi/v3/api/v1")["components"]["schemas"]
    server = dict(flatten(models["io.k8s.api.core.v1.PodTemplateSpec"], models))
    ours = dict(flatten(pod_template_schema(), {}))
    expected = {path: kind for path, kind in server.items() if not left_out(path)}
    assert len(expected) > 800
    assert {path: ours.get(path) for path in expected} == expected
