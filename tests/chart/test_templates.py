"""What the chart renders, and what it refuses to render; no cluster is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, OLDEST, Helm, HelmRefused, Raw, one
from tests.cluster.versions import locked
from tools import manifests
from trainop import __version__
from trainop.cli.operator import command
from trainop.registry import frameworks

VALUES = sorted((Path(__file__).parent / "values").glob("*.yaml"))
every_values_file = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
thorough = pytest.mark.thorough
RULES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
# Told by the type of Kubernetes that it is.
PASSED_ON = ("resources", "affinity")
MONITORING = ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor")


@pytest.fixture(scope="module")
def default(helm: Helm) -> list[Raw]:
    return helm.objects()


def schema() -> Raw:
    return json.loads((CHART / "values.schema.json").read_text())  # type: ignore[no-any-return]  # it is one


def objects_in(node: Any) -> Iterator[Raw]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for inner in node.values():
            yield from objects_in(inner)


def keys(values: Raw, schema: Raw, path: str = "") -> Iterator[str]:
    """Every value that the schema knows by name and the values have."""
    for name, inner in schema.get("properties", {}).items():
        if name in values:
            yield f"{path}{name}"
            if isinstance(values[name], dict):
                yield from keys(values[name], inner, f"{path}{name}.")


def named(schema: Raw, path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}"
        yield from named(inner, f"{path}{name}.")


def test_the_chart_installs_the_version_of_this_checkout() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__


def test_the_chart_says_which_kubernetes_it_was_tested_on_and_takes_none_that_is_older() -> None:
    oldest, *_, newest = (sources.folder.name for sources in locked())
    assert f"# tested on {oldest} to {newest};" in (CHART / "Chart.yaml").read_text()
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"] == f">={OLDEST}-0"


def test_the_schema_is_closed_everywhere() -> None:
    assert all(part.get("additionalProperties") is False for part in objects_in(schema()))


def test_every_value_of_the_schema_stands_in_values_yaml_with_its_default() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    passed_on = ("global", "resources.claims", "affinity.")
    assert set(keys(values, schema())) == {name for name in named(schema()) if not name.startswith(passed_on)}


def test_what_has_a_default_cannot_be_taken_away_but_what_is_empty_may_be_null() -> None:
    """Null in a values file takes a default away; so does an upgrade with --reuse-values of what is new."""

    def check(values: Raw, schema: Raw) -> None:
        known = schema["properties"]
        closed = {name for name in values if "properties" in known[name] and name not in PASSED_ON}
        plain = {
            name for name, value in values.items() if not isinstance(value, dict) and value not in ("", [])
        }
        assert set(schema.get("required", ())) == closed | plain
        for name in closed:
            check(values[name], known[name])

    check(yaml.safe_load((CHART / "values.yaml").read_text()), schema())


@thorough
def test_every_value_that_may_be_null_is_as_good_as_empty(helm: Helm, default: list[Raw]) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    empty = [name for name, value in values.items() if value in ("", [], {})]
    assert helm.objects(*(word for name in empty for word in ("--set-json", f"{name}=null"))) == default


def test_the_kinds_that_the_chart_knows_are_those_of_this_checkout() -> None:
    ours = {gvk.kind for gvk in frameworks() if gvk.group == "kubeflow.org"}
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    known = re.search(r"range \$kind := list (.*?) -", helpers)
    assert known
    assert {json.loads(word) for word in known[1].split()} == ours


@thorough
@every_values_file
def test_helm_lint_has_no_complaint(helm: Helm, values: Path) -> None:
    helm.run("lint", "--strict", CHART, "--kube-version", OLDEST, "--values", values)


@thorough
def test_the_copies_of_the_crds_and_the_plain_manifests_are_what_make_manifests_writes(helm: Helm) -> None:
    expected = manifests.files(helm)
    stale = [str(path) for path, text in expected.items() if not path.exists() or path.read_text() != text]
    assert not stale, "run `make manifests`"
    assert {path for path in expected if path.is_relative_to(CHART)} == set(CHART.glob("files/crds/*"))


@thorough
@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("replica=3", "at '': additional properties 'replica' not allowed"),
        ("image.tga=1", "at '/image': additional properties 'tga' not allowed"),
        ("metrics.serviceMonitor.enable=true", "at '/metrics/serviceMonitor': additional properties 'enable'"),
        ("extraJobs[0].group=x", "at '/extraJobs/0': missing properties 'kind', 'resource'"),
        ("cloud=aws", "at '/cloud': value must be one of '', 'gke', 'azure'"),
        ("replicas=two", "at '/replicas': got string, want integer"),
        ("metrics.serviceMonitor.enabled=maybe", "at '/metrics/serviceMonitor/enabled': value must be one of"),
        ("metrics.port=8081", "at '/metrics/port': 'not' failed"),
        ("leaderElection.enabled=false", "replicas: 2 operators without leaderElection.enabled"),
        ("leaderElection.renewDeadlineSeconds=15", "leaseDurationSeconds must be greater than renewDeadlineSec"),
        ("podDisruptionBudget.minAvailable=2", "minAvailable: 2 of 2 replicas can never go"),
        ("serviceAccount.create=false", "serviceAccount.name: without serviceAccount.create it must be given"),
        ("metrics=null", "at '': missing property 'metrics'"),
        ("leaderElection.leaseDurationSeconds=null", "at '/leaderElection': missing property 'leaseDurationSec"),
        ("podDisruptionBudget.minAvailable=51%", "minAvailable: 2 of 2 replicas can never go"),
        ("enabledKinds={TFJob,MPIJob}", "enabledKinds: MPIJob is neither TFJob, MXJob, PyTorchJob nor XGBoostJob"),
        ("legacyKinds=false,enabledKinds={MxJob.mlkube.io}", "enabledKinds: MxJob.mlkube.io is neither"),
        ("fullnameOverride=7-dwarfs", "fullnameOverride: 7-dwarfs cannot be the name of a Service"),
        ("runAsUser=0", "at '/runAsUser': 'oneOf' failed"),
        ("extraEnv[0].value=x", "at '/extraEnv/0': missing property 'name'"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_right_is_refused_with_its_path(
    helm: Helm, setting: str, complaint: str
) -> None:
    with pytest.raises(HelmRefused) as refused:
        helm.objects("--set", setting)
    assert complaint in str(refused.value)


@thorough
def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmRefused, match=r"requires kubeVersion: >=1\.30\.0-0"):
        helm.objects("--kube-version", "1.29.14")


@thorough
@every_values_file
def test_the_operator_understands_every_flag_that_the_chart_passes(helm: Helm, values: Path) -> None:
    container = one(helm.objects("--values", values), "Deployment")["spec"]["template"]["spec"]["containers"][
        0
    ]
    assert container["command"] == ["trainop", "operator"]
    command.make_context("operator", list(container["args"]))


@thorough
def test_all_namespaces_take_a_cluster_role_and_some_a_role_in_each(helm: Helm, default: list[Raw]) -> None:
    assert one(default, "ClusterRoleBinding")["roleRef"]["kind"] == "ClusterRole"
    only = helm.objects("--set", "namespaces={team-a,team-b},rbac.aggregate=false")
    kinds = [item["kind"] for item in only]
    assert "ClusterRole" not in kinds
    assert "ClusterRoleBinding" not in kinds
    places = [item["metadata"]["namespace"] for item in only if item["kind"] == "Role"]
    assert sorted(places) == ["team-a", "team-b", "trainop-system"]
    everywhere = one(default, "ClusterRole", "trainop")["rules"]
    assert [
        item["rules"] for item in only if item["metadata"].get("namespace") == "team-a" and "rules" in item
    ] == [everywhere]


@thorough
def test_without_rbac_install_there_is_no_right_in_the_chart(helm: Helm) -> None:
    text = helm.text("--set", "rbac.install=false,crds.install=false")
    made = [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]
    assert not [item for item in made if item["kind"] in RULES]
    assert one(made, "ServiceAccount", "trainop")


@thorough
def test_rights_follow_the_kinds_and_the_gang_scheduler(helm: Helm) -> None:
    def rules(*settings: str) -> dict[str, list[str]]:
        found = one(helm.objects("--set", ",".join(("rbac.aggregate=false", *settings))), "ClusterRole")
        return {
            f"{rule['apiGroups'][0]} {' '.join(rule['resources'])}": rule["verbs"] for rule in found["rules"]
        }

    assert "kubeflow.org tfjobs/status" in rules("enabledKinds={TfJob}")
    assert "scheduling.volcano.sh podgroups" in rules("gangSchedulerName=volcano")
    assert "scheduling.x-k8s.io podgroups" in rules("gangSchedulerName=anything-else")
    assert not [key for key in rules() | rules("gangSchedulerName=none") if "podgroups" in key]
    third = "extraJobs[0].group=choir.example.org,extraJobs[0].kind=Concert,extraJobs[0].resource=concerts"
    assert rules(third)["choir.example.org concerts/status"] == ["patch"]


@thorough
def test_the_image_is_that_of_the_digest_the_tag_or_the_chart(helm: Helm) -> None:
    def image(*words: str) -> Any:
        pod = one(helm.objects(*words), "Deployment")["spec"]["template"]["spec"]
        return pod["containers"][0]["image"]

    digest = f"sha256:{'0' * 64}"
    assert image() == f"trainop:{__version__}"
    assert image("--set", "image.tag=edge") == "trainop:edge"
    assert image("--set", f"image.tag=edge,image.digest={digest}") == f"trainop@{digest}"


@thorough
def test_a_rollout_never_has_two_at_work_and_needs_no_node_more(helm: Helm) -> None:
    def strategy(*words: str) -> Any:
        return one(helm.objects(*words), "Deployment")["spec"]["strategy"]

    one_more, one_less = ({"maxUnavailable": n, "maxSurge": 1 - n} for n in (0, 1))
    assert strategy() == {"type": "RollingUpdate", "rollingUpdate": one_more}
    assert strategy("--set", "replicas=1,leaderElection.enabled=false") == {"type": "Recreate"}
    apart = ("--set", "antiAffinity=hard")
    assert strategy(*apart)["rollingUpdate"] == one_less
    assert strategy(*apart, "--kube-version", "1.31.0")["rollingUpdate"] == one_more


@thorough
def test_a_variable_of_ones_own_stands_beside_the_operators(helm: Helm) -> None:
    made = helm.objects("--set", "extraEnv[0].name=NO_PROXY,extraEnv[0].value=10.0.0.0/8")
    container = one(made, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert [it["name"] for it in container["env"]] == ["POD_NAME", "POD_NAMESPACE", "NO_PROXY"]


@thorough
def test_who_the_pods_run_as_may_be_left_to_the_namespace(helm: Helm) -> None:
    def users(*words: str) -> list[str]:
        """Of the Deployment, of the pod of `helm test`, and of the job that it submits."""
        text = helm.text("--set", ",".join(("crds.install=false", *words)))
        return re.findall(r'runAs(?:User|Group)"?: (\d+)', text)

    assert users() == ["65532"] * 6
    assert users("runAsUser=1000680000") == ["1000680000"] * 6
    assert users("runAsUser=auto") == []


@thorough
def test_a_service_monitor_is_made_only_where_its_api_is(helm: Helm, default: list[Raw]) -> None:
    def monitors(*words: str) -> int:
        return [item["kind"] for item in helm.objects(*words)].count("ServiceMonitor")

    assert "ServiceMonitor" not in [item["kind"] for item in default]
    assert monitors(*MONITORING) == 1
    assert monitors(*MONITORING, "--set", "metrics.serviceMonitor.enabled=false") == 0
    assert monitors(*MONITORING, "--set", "metrics.enabled=false") == 0
    assert monitors("--set", "metrics.serviceMonitor.enabled=true") == 1


@thorough
def test_a_disruption_budget_is_made_only_where_it_lets_a_node_be_drained(
    helm: Helm, default: list[Raw]
) -> None:
    assert one(default, "PodDisruptionBudget")["spec"]["minAvailable"] == 1
    half = helm.objects("--set", "podDisruptionBudget.minAvailable=50%")
    assert one(half, "PodDisruptionBudget")["spec"]["minAvailable"] == "50%"
    assert "PodDisruptionBudget" not in [item["kind"] for item in helm.objects("--set", "replicas=1")]


@thorough
def test_the_accelerators_of_a_cloud_are_those_of_2017(helm: Helm, default: list[Raw]) -> None:
    assert "tf-job-operator-config" not in [item["metadata"]["name"] for item in default]
    for cloud, libraries in (("azure", "/usr/lib/nvidia-384"), ("gke", "/home/kubernetes/bin/nvidia/lib")):
        made = one(helm.objects("--set", f"cloud={cloud}"), "ConfigMap", "tf-job-operator-config")
        config = yaml.safe_load(made["data"]["controller_config_file.yaml"])
        volumes = config["accelerators"]["alpha.kubernetes.io/nvidia-gpu"]["volumes"]
        assert volumes[0]["hostPath"] == libraries


@thorough
def test_the_chart_packs_into_an_archive_that_renders_the_same(
    helm: Helm, default: list[Raw], tmp_path: Path
) -> None:
    helm.run("package", CHART, "--destination", tmp_path)
    packed = tmp_path / f"trainop-{__version__}.tgz"
    words = (
        "--namespace",
        "trainop-system",
        "--kube-version",
        OLDEST,
        "--no-hooks",
        "--set",
        "crds.install=false",
    )
    text = helm.run("template", "trainop", packed, *words)
    assert [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item] == default


@thorough
def test_a_name_of_digits_is_still_a_name(helm: Helm) -> None:
    made = helm.objects(
        "--set-string", "namespaces={2024},leaderElection.id=15,priorityClassName=7,fullnameOverride=on",
        release="1e3", namespace="2025",
    )  # fmt: skip
    assert "2024" in [item["metadata"]["namespace"] for item in made if item["kind"] == "Role"]
    [lease] = [rule for item in made for rule in item.get("rules", ()) if "resourceNames" in rule]
    assert lease["resourceNames"] == ["15"]
    deployment = one(made, "Deployment", "on")
    assert deployment["metadata"]["namespace"] == "2025"
    assert deployment["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"] == "1e3"
    assert deployment["spec"]["template"]["spec"]["priorityClassName"] == "7"


@thorough
def test_a_release_with_dots_in_its_name_makes_names_that_services_may_have(helm: Helm) -> None:
    assert one(helm.objects(release="team.ml"), "Service")["metadata"]["name"] == "team-ml-trainop"


@thorough
def test_a_dashboard_may_go_without_a_label_of_its_own(helm: Helm) -> None:
    made = helm.objects("--set", "metrics.dashboard.labels.grafana_dashboard=null")
    assert "grafana_dashboard" not in one(made, "ConfigMap", "trainop-dashboard")["metadata"]["labels"]


@thorough
def test_of_kinds_that_are_not_served_no_crd_is_installed(helm: Helm) -> None:
    """Another operator may have them."""

    def installed(kinds: str) -> list[str]:
        crds = helm.text("--show-only", "templates/crds.yaml", "--set", f"enabledKinds={{{kinds}}}")
        return re.findall(r"^  name: (.*)$", crds, re.MULTILINE)

    assert installed("TFJob.kubeflow.org,MXJob.kubeflow.org") == [
        "tfjobs.kubeflow.org",
        "mxjobs.kubeflow.org",
    ]
    assert installed("xgboostjob") == ["xgboostjobs.kubeflow.org"]


@thorough
def test_the_kinds_of_2017_are_left_out_by_one_value(helm: Helm) -> None:
    def groups(*words: str) -> set[str]:
        settings = ("--set", ",".join(("rbac.aggregate=false", *words)))
        role = one(helm.objects(*settings), "ClusterRole")
        crds = helm.text("--show-only", "templates/crds.yaml", *settings)
        granted = {group for rule in role["rules"] for group in rule["apiGroups"]}
        installed = set(re.findall(r"^  group: (.*)$", crds, re.MULTILINE))
        assert installed <= granted
        return installed

    older = {"tensorflow.org", "mlkube.io", "mxnet.mlkube.io"}
    assert groups() == {"kubeflow.org", *older}
    assert groups("legacyKinds=false") == {"kubeflow.org"}

    def flags(*words: str) -> list[str]:
        container = one(helm.objects(*words), "Deployment")["spec"]["template"]["spec"]["containers"][0]
        return [flag for flag in container["args"] if flag.startswith("--enable-scheme")]

    assert flags() == []
    assert flags("--set", "legacyKinds=false") == [
        "--enable-scheme=TFJob.kubeflow.org",
        "--enable-scheme=MXJob.kubeflow.org",
        "--enable-scheme=PyTorchJob.kubeflow.org",
        "--enable-scheme=XGBoostJob.kubeflow.org",
    ]
    assert flags("--set", "enabledKinds={MxJob.mlkube.io}") == ["--enable-scheme=MxJob.mlkube.io"]
