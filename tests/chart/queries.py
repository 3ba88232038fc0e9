"""The queries of the dashboard and the alerts, and what Prometheus' own engine finds with them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.chart.helm import CHART


class Series(NamedTuple):
    labels: Mapping[str, str]
    """With the metric's name as __name__."""
    points: list[tuple[float, float]]
    """Seconds and values."""


class Asked(NamedTuple):
    """Labels that a query expects on the series of some metrics."""

    metrics: list[str]
    labels: list[str]


class Answer(NamedTuple):
    error: str
    asked: list[Asked]
    found: list[dict[str, str]]
    """The labels of what there was at that time."""


def ask(program: Path, queries: Iterable[str], series: Iterable[Series] = (), at: int = 0) -> list[Answer]:
    task = {"queries": list(queries), "series": [it._asdict() for it in series], "at": at}
    done = subprocess.run(  # noqa: S603 - our own program
        [program], input=json.dumps(task), capture_output=True, text=True, check=True
    )
    return [
        Answer(it["error"], [Asked(**one) for one in it["asked"] or ()], it["found"] or [])
        for it in json.loads(done.stdout)
    ]


def dashboard() -> dict[str, str]:
    """Every query, by where it stands, with what Grafana would fill in."""
    pages: dict[str, Any] = json.loads((CHART / "files" / "dashboard.json").read_text())
    found = {
        f"panel {panel['title']!r}, {target['refId']}": target["expr"]
        for panel in pages["panels"]
        for target in panel.get("targets", ())
    }
    for variable in pages["templating"]["list"]:
        if values := re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]):
            found[f"variable {variable['name']}"] = f"group by ({values[2]}) ({values[1]})"
    assert len(found) > 25
    return {
        where: re.sub(r"\$__\w+", "5m", query).replace("$namespace", ".*") for where, query in found.items()
    }


def alerts() -> dict[str, str]:
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}
