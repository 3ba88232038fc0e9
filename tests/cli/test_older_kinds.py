"""The commands for files on jobs of 2017, as people meet them."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from trainop import cli

EXAMPLES = Path(__file__).parents[2] / "examples" / "legacy"
WRONG = """\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: {name: wrong}
spec:
  replica_specs:
    - replicas: 2
      template: {spec: {containers: [{name: tensorflow, image: train}]}}
    - tfReplicaType: WORKER
      tfPrt: 22
      template: {spec: {containers: [{name: trainer, image: train}]}}
"""
SMALL = """\
apiVersion: mlkube.io/v1beta1
kind: TfJob
metadata: {name: small}
spec:
  replica_specs:
    - template: {spec: {containers: [{name: tensorflow, image: train, command: ["true"]}]}}
    - tf_replica_type: WORKER
      template: {spec: {containers: [{name: tensorflow, image: train, command: [sleep, "600"]}]}}
"""


def trainop(*words: str, text: str = "") -> Result:
    return CliRunner().invoke(cli.main, words, input=text)


def test_the_examples_have_no_mistakes() -> None:
    result = trainop("validate", str(EXAMPLES))
    assert (result.exit_code, result.stdout) == (
        0, f"{len(list(EXAMPLES.glob('*.yaml')))} jobs checked, no mistakes\n"
    )  # fmt: skip


def test_mistakes_are_told_where_they_stand_and_in_the_words_of_2017() -> None:
    result = trainop("validate", "-", text=WRONG)
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "<stdin>:6:17: spec.replica_specs[0].replicas: The MASTER must have Replicas = 1",
        "<stdin>:9:7: spec.replica_specs[1].tfPrt: unknown field",
        "    write tfPort",
        "<stdin>:10:7: spec.replica_specs[1].template: "
        "Replica type WORKER is missing a container named tensorflow",
        "1 job checked, 3 mistakes in 1",
    ]


def test_a_kind_that_was_renamed_in_its_group_is_told_its_name() -> None:
    result = trainop("validate", "-", text=WRONG.replace("kind: TfJob", "kind: TFJob"))
    assert "kind: must be TfJob, not 'TFJob'" in result.stdout


def test_what_is_rendered_has_the_names_of_2017_but_no_id_yet() -> None:
    result = trainop("render", str(EXAMPLES / "tf_job_gpu.yaml"), "-o", "json")
    names = [(item["kind"], item["metadata"]["name"]) for item in json.loads(result.stdout)["items"]]
    assert names == [("Pod", "master-xxxx-0"), ("Service", "master-xxxx-0")]
    assert "spec.replica_specs is read as replicaSpecs" in result.stderr


def test_the_program_of_a_default_server_can_be_read_where_it_is_shown() -> None:
    shown = trainop("render", str(EXAMPLES / "tf_job.yaml")).stdout
    assert "    - |\n      import json, os\n      import tensorflow as tf\n" in shown
    pods = [it for it in yaml.safe_load_all(shown) if it["metadata"]["name"] == "ps-xxxx-0"]
    listed = json.loads(trainop("render", str(EXAMPLES / "tf_job.yaml"), "-o", "json").stdout)["items"]
    assert pods == [it for it in listed if it["metadata"]["name"] == "ps-xxxx-0"]


def test_a_job_of_2017_runs_on_this_machine_in_the_size_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(SMALL)
    words = ("--scale", "worker=2", "--run-dir", str(tmp_path / "run"), "-o", "json")
    result = trainop("run", str(tmp_path / "job.yaml"), *words)
    assert result.exit_code == 0, result.output
    told = trainop("status", str(tmp_path / "run"), "-o", "json")
    status = json.loads(told.stdout)["status"]
    assert (status["phase"], status["state"]) == ("Done", "Succeeded")
    assert [(it["tf_replica_type"], it["ReplicasStates"]) for it in status["replicaStatuses"]] == [
        ("MASTER", {"Succeeded": 1}),
        ("WORKER", {"Running": 2}),
    ]
