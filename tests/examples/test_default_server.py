"""The parameter server of a TfJob that does not say what one is: it serves today's TensorFlow, and 1.x."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import own, progress
from tests.frameworks.dialects import a_raw, a_replica, dialect, made
from tools.environments import TENSORFLOW, environment
from trainop.parse import parse

TFJOB = dialect("tensorflow.org", "TfJob")
PS = {"tfReplicaType": "PS"}
# It uses the server as any client does: a variable that lives there is changed from here.
CLIENT = """\
import json, os, tensorflow as tf
(host,) = json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"]
tf.config.experimental_connect_to_host(host, job_name="ps")
with tf.device("/job:ps/replica:0/task:0/device:CPU:0"):
    found = tf.Variable(40.0)
    found.assign_add(2.0)
print("found", found.numpy(), "on", found.device)
"""
# What TensorFlow 1.3 has of it, which no Python of today can import.
OF_2017 = """\
class train:
    @staticmethod
    def ClusterSpec(cluster):
        return cluster
    class Server:
        def __init__(self, cluster, job_name, task_index):
            self.told = cluster, job_name, task_index
        def join(self):
            print(*self.told)
"""


@pytest.mark.training
def test_a_variable_lives_on_the_default_server_of_a_job(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with own.or_skip(), capture.global_and_fixture_disabled():  # who waits for a download wants to see it
        home = environment(TENSORFLOW, progress.on_stderr())
    master = a_replica("tensorflow")
    master["template"]["spec"]["containers"][0]["command"] = ["python", "-c", CLIENT]
    job = tmp_path / "job.json"
    job.write_text(json.dumps(a_raw(TFJOB, master, PS, tfImage="train:1") | {"metadata": {"name": "plain"}}))
    trainop, run = str(Path(sys.executable).with_name("trainop")), tmp_path / "run"
    options = ["--python", f"train:1={home}", "--run-dir", str(run), "--timeout", "5m"]
    command = [trainop, "run", str(job), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (run / "logs").glob("master-*/tensorflow.0.log")
    assert "found 42.0 on /job:ps/replica:0/task:0/device:CPU:0" in log.read_text()


def test_the_server_asks_for_nothing_that_tensorflow_1_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text(OF_2017)
    pods, _ = made(TFJOB, parse(TFJOB, a_raw(TFJOB, a_replica("tensorflow"), PS)))
    (container,) = pods["ps-r-0"]["spec"]["containers"]
    config = {entry["name"]: entry["value"] for entry in container["env"]}
    done = subprocess.run(  # noqa: S603 - the program of the container
        [sys.executable, *container["command"][1:]],
        env={**os.environ, **config, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "{'master': ['master-r-0:2222'], 'ps': ['ps-r-0:2222']} ps 0\n"
