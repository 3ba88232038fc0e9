"""A framework beside ours in the chart: one value with its CRD, and it is installed, served and granted its rights."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.chart.helm import Helm, HelmRefused, Raw, one
from tests.chart.rights import rights
from tests.cluster.controlplane import Cluster
from tests.scenarios.casting import THIRD_PARTY, known_frameworks
from trainop import cli
from trainop.crd import crd
from trainop.rights import of_jobs

pytestmark = pytest.mark.thorough

CONCERT = known_frameworks()["Concert"]


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The words for helm, with what `trainop crds` prints."""
    monkeypatch.syspath_prepend(THIRD_PARTY)
    printed = CliRunner().invoke(cli.main, ["crds", "--framework", "choir"])
    assert printed.exit_code == 0, printed.output
    path = tmp_path / "choir.yaml"
    path.write_text(printed.stdout)
    return ("--set-file", f"extraCrds={path}")


def installed(helm: Helm, *words: str) -> dict[str, Raw]:
    text = helm.text("--show-only", "templates/crds.yaml", *words)
    return {item["metadata"]["name"]: item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item}


def test_its_crd_is_installed_as_it_was_printed_and_stays_when_the_release_goes(
    helm: Helm, extra: tuple[str, ...]
) -> None:
    found = installed(helm, *extra)
    assert found.keys() == installed(helm).keys() | {"concerts.music.example.com"}
    mine = found["concerts.music.example.com"]
    assert mine["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert mine == crd(CONCERT)


def test_the_operator_is_granted_what_trainop_rbac_prints_for_it(helm: Helm, extra: tuple[str, ...]) -> None:
    alone = ("--set", "rbac.aggregate=false")
    before, after = (rights([one(helm.objects(*alone, *words), "ClusterRole")]) for words in ((), extra))
    assert after == before | set(of_jobs([CONCERT]))
    role = yaml.safe_load(CliRunner().invoke(cli.main, ["rbac", "--framework", "choir"]).stdout)
    assert rights([role]) == set(of_jobs([CONCERT]))


def test_people_get_their_rights_and_the_admission_policy_holds_for_it(
    helm: Helm, extra: tuple[str, ...]
) -> None:
    made = helm.objects(*extra, "--set", "admissionPolicy.enabled=true")
    edit = one(made, "ClusterRole", "kubeflow-training-edit")
    assert ("music.example.com", "concerts", "create") in rights([edit])
    matched = one(made, "ValidatingAdmissionPolicy")["spec"]["matchConstraints"]["resourceRules"]
    assert "concerts" in [resource for rule in matched for resource in rule["resources"]]


def test_where_some_kinds_only_are_served_it_is_named_like_any(helm: Helm, extra: tuple[str, ...]) -> None:
    for name in ("Concert", "concert.music.example.com"):
        pod = one(helm.objects(*extra, "--set", f"enabledKinds={{{name}}}"), "Deployment")["spec"]["template"]
        assert "--enable-scheme=Concert.music.example.com" in pod["spec"]["containers"][0]["args"]


def test_named_in_both_ways_it_is_served_once(helm: Helm, extra: tuple[str, ...]) -> None:
    fields = {"group": CONCERT.group, "kind": CONCERT.kind, "resource": CONCERT.plural}
    job = ",".join(f"extraJobs[0].{field}={value}" for field, value in fields.items())
    assert helm.objects(*extra, "--set", job) == helm.objects(*extra)


def test_what_is_no_crd_is_refused(helm: Helm) -> None:
    with pytest.raises(
        HelmRefused, match="extraCrds: it must be what `trainop crds --framework NAME` prints"
    ):
        helm.objects("--set", "extraCrds=kind: ConfigMap")


def test_a_broken_framework_is_skipped_if_one_says_so(helm: Helm) -> None:
    def flags(*words: str) -> list[str]:
        pod = one(helm.objects(*words), "Deployment")["spec"]["template"]["spec"]
        return [flag for flag in pod["containers"][0]["args"] if "broken" in flag]

    assert flags() == []
    assert flags("--set", "skipBrokenFrameworks=true") == ["--skip-broken-frameworks"]


@pytest.mark.cluster
def test_a_real_api_server_takes_all_of_it(
    helm: Helm, crds: Cluster, namespace: str, extra: tuple[str, ...]
) -> None:
    text = helm.text("--no-hooks", *extra, namespace=namespace)
    told = crds.run("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
    assert "customresourcedefinition.apiextensions.k8s.io/concerts.music.example.com " in told
    assert "deployment.apps/trainop created" in told
