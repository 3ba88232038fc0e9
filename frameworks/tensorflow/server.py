"""The default parameter server: a program for whatever TensorFlow the image has, that of 2017 or today's."""

from __future__ import annotations

from typing import Any

SCRIPT = """\
import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
Server = getattr(getattr(tf, "distribute", None), "Server", None) or tf.train.Server
cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
Server(cluster, job_name=task["type"], task_index=int(task["index"])).join()
"""


def container(image: str) -> dict[str, Any]:
    return {"name": "tensorflow", "image": image, "command": ["python", "-c", SCRIPT]}
