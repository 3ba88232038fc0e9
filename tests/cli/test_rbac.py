"""`trainop rbac`: the rights that the operator needs, no more and no less, as a role to apply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.chart.rights import rights
from trainop import cli
from trainop.engine.gang import PLUGINS, VOLCANO
from trainop.registry import by_name, frameworks
from trainop.rights import of_jobs


def printed(*words: str) -> Mapping[str, Any]:
    result = CliRunner().invoke(cli.main, ["rbac", *words])
    assert result.exit_code == 0, result.output
    role: dict[str, Any] = yaml.safe_load(result.stdout)
    return role


def test_it_is_a_cluster_role_with_the_rights_of_all_installed_kinds() -> None:
    role = printed()
    assert (role["kind"], role["metadata"]) == ("ClusterRole", {"name": "trainop"})
    assert rights([dict(role)]) == set(of_jobs(frameworks().values()))


def test_of_one_framework_there_are_also_its_dialects_and_nobody_else() -> None:
    role, framework = printed("--framework", "mxnet"), by_name()["mxnet"]
    assert rights([dict(role)]) == set(of_jobs((framework, *framework.dialects)))
    assert not [resource for _, resource, _ in rights([dict(role)]) if resource.startswith("tfjobs")]


def test_what_takes_the_same_verbs_stands_in_one_rule() -> None:
    rules = printed("--framework", "mxnet")["rules"]
    assert {"apiGroups": [""], "resources": ["pods", "services"]}.items() <= rules[-2].items()
    assert len(rules) == len({(str(rule["apiGroups"]), str(rule["verbs"])) for rule in rules})


@pytest.mark.parametrize(("name", "kind"), [("volcano", VOLCANO), ("some-scheduler", PLUGINS)])
def test_a_gang_scheduler_takes_rights_to_its_pod_groups(name: str, kind: Any) -> None:
    role = printed("--gang-scheduler-name", name)
    assert rights([dict(role)]) == set(of_jobs(frameworks().values(), kind))


def test_for_a_namespace_it_is_a_role_there() -> None:
    role = printed("-n", "team-a", "--name", "mine")
    assert (role["kind"], role["metadata"]) == ("Role", {"name": "mine", "namespace": "team-a"})


def test_json_says_the_same() -> None:
    assert json.loads(CliRunner().invoke(cli.main, ["rbac", "-o", "json"]).stdout) == printed()


def test_a_framework_that_is_not_there_is_wrong_usage() -> None:
    result = CliRunner().invoke(cli.main, ["rbac", "--framework", "nobody"])
    assert result.exit_code == 2
    assert result.stderr.startswith("trainop: no framework is called nobody; installed are ")
