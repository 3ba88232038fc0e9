"""docs/operations.md and docs/image.md say what the code and the chart say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click import Option

from tools.reference import BUILT_IN
from trainop.cli.operator import command
from trainop.engine import gang
from trainop.model import Settings
from trainop.operator.metrics import ANSWER, Metrics
from trainop.registry import frameworks
from trainop.rights import of_jobs, of_the_lease

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "trainop"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
page = (ROOT / "docs" / "operations.md").read_text()
KNOWN_AS = {"counter": "_total", "info": "_info"}


def table(first: str) -> list[list[str]]:
    """The cells of each row of the table whose first column is called that."""
    _, _, after = page.partition(f"| {first} |")
    rows = after.split("\n\n")[0].splitlines()[2:]
    assert rows, f"no table of {first}"
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


def words(cell: str) -> list[str]:
    return [word.strip("` ") for word in cell.split(",") if word.strip()]


def test_the_rights_are_those_of_rights_py() -> None:
    told = [
        ("" if group == "core" else group, resource, verb)
        for groups, resources, verbs, _ in table("group")
        for group in groups.split(" or ")
        for resource in words(resources)
        for verb in words(verbs)
    ]
    ours = [framework for framework in frameworks().values() if framework.name in BUILT_IN]
    both = [gang.scheduler(Settings(gang_scheduler=name)) for name in ("volcano", "another")]
    wanted = {right for one in both if one for right in of_jobs(ours, one.gvk)} | {*of_the_lease()}
    assert sorted(told) == sorted(tuple(right) for right in wanted)


def test_the_flags_are_those_of_the_command_with_their_defaults() -> None:
    told = {flag: default for flag, default, _, _ in table("flag")}
    options = {max(it.opts, key=len): it for it in command.params if isinstance(it, Option)}
    assert list(told) == list(options)
    for flag, option in options.items():
        if option.show_default:
            assert told[flag] == str(option.default), flag


def test_the_chart_values_of_the_flags_are_there() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for flag, _, named, _ in table("flag"):
        for name in words(named):
            assert _has(values, name), f"{flag}: there is no value {name}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_value_that_a_command_sets_is_there(path: Path) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for name in re.findall(r"--set \"?([\w.]+)[=\[]", path.read_text()):
        assert _has(values, name), name


def _has(values: object, name: str) -> bool:
    for part in name.split("."):
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def test_the_metrics_are_those_of_metrics_py_with_their_labels() -> None:
    metrics = Metrics()
    labels = {
        it._name: list(it._labelnames) for it in vars(metrics).values() if hasattr(it, "_labelnames")
    } | {"trainop_api_requests": list(ANSWER), "trainop_build": ["version"]}
    expected = {
        family.name + KNOWN_AS.get(family.type, ""): labels[family.name]
        for family in metrics._registry.collect()
        if family.name.startswith("train")
    }
    assert {name: words(names) for name, names, _ in table("metric")} == expected


def test_each_alert_is_explained_with_its_severity() -> None:
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    alerts = {rule["alert"]: rule["labels"]["severity"] for group in groups for rule in group["rules"]}
    told = table("alert")
    assert {name: severity for name, severity, *_ in told} == alerts
    assert all(meaning and remedy for *_, meaning, remedy in told)


def test_the_build_arguments_are_those_of_the_dockerfile() -> None:
    image = (ROOT / "docs" / "image.md").read_text()
    told = {name for row in re.findall(r"^\| (`[A-Z].*?) \|", image, re.MULTILINE) for name in words(row)}
    assert told == set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert link.startswith("https://") or (path.parent / link).exists(), link


def test_the_oldest_kubernetes_is_that_of_the_chart() -> None:
    wanted = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    for text in (page, (ROOT / "README.md").read_text()):
        (oldest,) = set(re.findall(r"Kubernetes (\d+\.\d+) to 1\.\d+", text))
        assert wanted == f">={oldest}.0-0"
