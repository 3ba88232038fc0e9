"""`trainop render` as people meet it; that it shows what the operator makes is told in tests/scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.builders import TF, a_manifest, a_status
from trainop import cli

EXAMPLES = Path(__file__).parents[2] / "examples"


def render(job: Any, *words: str) -> Result:
    text = job if isinstance(job, str) else json.dumps(job)
    return CliRunner().invoke(cli.main, ["render", "-", *words], input=text)


def a_file(**words: Any) -> dict[str, Any]:
    raw = a_manifest(TF, **words)
    return {**raw, "metadata": {"name": raw["metadata"]["name"]}} | {"status": {}}


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*job.yaml")), ids=lambda path: path.stem)
def test_yaml_and_json_say_the_same(path: Path) -> None:
    text = path.read_text()
    documents = list(yaml.safe_load_all(render(text).stdout))
    assert documents == json.loads(render(text, "-o", "json").stdout)["items"]
    assert {document["kind"] for document in documents} == {"Pod", "Service"}


def test_members_are_told_of_each_other() -> None:
    items = json.loads(render(a_file(Chief=1, Worker=1), "-o", "json", "-n", "team").stdout)["items"]
    env = items[0]["spec"]["containers"][0]["env"]
    assert "mnist-worker-0.team.svc:2222" in env[0]["value"]
    assert {item["metadata"]["namespace"] for item in items} == {"team"}


def test_the_namespace_in_the_file_wins() -> None:
    job = a_file(Worker=1)
    job["metadata"]["namespace"] = "own"
    items = json.loads(render(job, "-o", "json", "--namespace", "other").stdout)["items"]
    assert {item["metadata"]["namespace"] for item in items} == {"own"}


def test_nobody_owns_what_is_rendered_as_the_job_has_no_uid_yet() -> None:
    assert "ownerReferences" not in render(a_file(Worker=1)).stdout


def test_a_job_that_was_exported_from_a_cluster_is_rendered_as_a_new_one() -> None:
    job = a_manifest(TF, Worker=2, status=a_status("Created", "Succeeded"))
    assert render(job).stdout.count("kind: Pod") == 2


def test_what_the_operator_would_warn_of_goes_to_stderr() -> None:
    job = a_file(Worker=1, PS=1)
    pod = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["restartPolicy"] = "Always"
    pod["containers"][0]["env"] = [{"name": "TF_CONFIG", "value": "mine"}]
    result = render(job)
    assert result.exit_code == 0
    assert "SettedPodTemplateRestartPolicy" in result.stderr
    assert "warning: TFJob default/mnist: TF_CONFIG in container tensorflow of Worker" in result.stderr


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"suspend": True}, "it is suspended"),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "it is managed by kueue.x-k8s.io/multikueue"),
    ],
)
def test_a_job_of_which_nothing_is_made_yet(policy: dict[str, Any], why: str) -> None:
    result = render(a_file(Worker=1, policy=policy))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"note: TFJob default/mnist: nothing is made as long as {why}\n"


def test_a_job_that_would_fail_at_once_is_bad_yaml() -> None:
    """The rules do not know the namespace, which is a part of TF_CONFIG."""
    result = render(a_file(Worker=4_000, PS=1), "--namespace", "a" * 63)
    assert result.exit_code == 2
    assert "TF_CONFIG would have" in result.stderr
    assert result.stderr.endswith("would fail at once: nothing is made of it\n")
    assert result.stdout == ""


def test_bad_yaml_is_reported_as_by_validate() -> None:
    text = json.dumps(a_file(Worker=-1))
    told = CliRunner().invoke(cli.main, ["validate", "-"], input=text)
    result = render(text)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", told.stdout)


def test_a_file_without_a_job_is_named() -> None:
    result = render("kind: ConfigMap\napiVersion: v1\n")
    assert result.exit_code == 2
    assert result.stderr == (
        "trainop: -: there is no job in it; 0 jobs checked, no mistakes; 1 other document skipped (ConfigMap)\n"
    )


@pytest.mark.parametrize("word", ["y", "1e3", "yes", "0x10", "null", "~"])
def test_text_that_kubectl_would_take_for_something_else_is_in_quotes(word: str) -> None:
    job = a_file(Worker=1)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] = [word]
    assert f"- '{word}'\n" in render(job).stdout
