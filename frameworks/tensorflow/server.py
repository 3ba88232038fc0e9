"""The default parameter server: a program for whatever TensorFlow the image has, that of 2017 or today's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCRIPT = """\
import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
Server = getattr(getattr(tf, "distribute", None), "Server", None) or tf.train.Server
cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
Server(cluster, job_name=task["type"], task_index=int(task["index"])).join()
"""


COMMAND = ["python", "-c", SCRIPT]


def container(image: str) -> dict[str, Any]:
    return {"name": "tensorflow", "image": image, "command": [*COMMAND]}


def is_default(template: Mapping[str, Any]) -> bool:
    return any(it.get("command") == COMMAND for it in template["spec"]["containers"])
