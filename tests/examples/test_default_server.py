"""The parameter server of a TfJob that does not say what one is: it serves today's TensorFlow, and 1.x."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import Raw
from tests.cluster import own, progress
from tests.frameworks.dialects import a_raw, a_replica, dialect, made
from tools.environments import TENSORFLOW, Example, environment
from trainop.parse import parse

pytestmark = pytest.mark.training
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
# The same as in 2017: the master is a server, too, and its session spans the cluster.
CLIENT_OF_2017 = """\
import json, os, tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
server = tf.train.Server(tf.train.ClusterSpec(config["cluster"]), job_name="master", task_index=0)
with tf.device("/job:ps/task:0"):
    found = tf.Variable(40.0)
    more = found.assign_add(2.0)
with tf.Session(server.target) as session:
    session.run(found.initializer)
    print("TensorFlow", tf.__version__, "found", session.run(more), "on", found.device)
"""
# TensorFlow has its 1.x in it still: `import tensorflow` in what follows is that one, without what came later.
AS_1 = """\
import sys, tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.distribute = None
sys.modules["tensorflow"] = tf
"""
OF_2017 = Example(
    title="TensorFlow 1.3",
    file="tests/data/of_2017/tensorflow/requirements.lock",
    image="tensorflow/tensorflow:1.3.0",
    tells="",
    pythons=("3.6",),
    pip=("--no-deps",),  # it wants a TensorBoard of which there is no wheel, and runs without
)


def home_of(example: Example, pytestconfig: pytest.Config) -> Path:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # who waits for a download wants to see it
        return environment(example, progress.on_stderr())


def running(program: str, type_: str) -> Raw:
    """A replica that runs this and nothing else."""
    replica = a_replica("tensorflow", tfReplicaType=type_)
    replica["template"]["spec"]["containers"][0]["command"] = ["python", "-c", program]
    return replica


def said(home: Path, folder: Path, client: str, server: Raw) -> str:
    """By the master, which is the client, when all of the job has run on this machine."""
    job, place = folder / "job.json", folder / "run"
    written = a_raw(TFJOB, running(client, "MASTER"), server, tfImage="train:1")
    job.write_text(json.dumps(written | {"metadata": {"name": "plain"}}))
    trainop = str(Path(sys.executable).with_name("trainop"))
    options = ["--python", f"train:1={home}", "--run-dir", str(place), "--timeout", "5m"]
    command = [trainop, "run", str(job), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (place / "logs").glob("master-*/tensorflow.0.log")
    return log.read_text()


def test_a_variable_lives_on_the_default_server_of_a_job(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    with own.or_skip():
        home = home_of(TENSORFLOW, pytestconfig)
    assert "found 42.0 on /job:ps/replica:0/task:0/device:CPU:0" in said(home, tmp_path, CLIENT, PS)


def test_it_serves_the_tensorflow_of_2017(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """That of the image which such a server has, unless the job names another one."""
    with own.or_skip():
        home = home_of(OF_2017, pytestconfig)
    assert "TensorFlow 1.3.0 found 42.0 on /job:ps/task:0" in said(home, tmp_path, CLIENT_OF_2017, PS)


def test_it_serves_by_the_interface_of_tensorflow_1(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Where there is no Python for the real one, TensorFlow's own 1.x stands for it."""
    with own.or_skip():
        home = home_of(TENSORFLOW, pytestconfig)
    pods, _ = made(TFJOB, parse(TFJOB, a_raw(TFJOB, a_replica("tensorflow"), PS)))
    (container,) = pods["ps-r-0"]["spec"]["containers"]
    server = running(AS_1 + container["command"][2], "PS")
    assert "found 42.0 on /job:ps/task:0" in said(home, tmp_path, AS_1 + CLIENT_OF_2017, server)
