"""A TensorBoard beside a job, asked for with `spec.tensorboard` as in 2017."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from trainop.api.base import ApiModel
from trainop.framework import Companion, Rule
from trainop.model import Job

PORT = 6006
LONGEST_NAME = 63 - len("-tensorboard")
# What a pod needs to get the same image and read the same files as the training.
_SHARED = ("imagePullSecrets", "securityContext", "serviceAccountName")


class TensorBoard(ApiModel):
    """A TensorBoard that shows what the training logs; it stays until the job is deleted."""

    log_dir: str = Field(min_length=1, description="Where it looks for event files.")
    volumes: tuple[dict[str, Any], ...] = Field((), description="Same as volumes of a pod's spec.")
    volume_mounts: tuple[dict[str, Any], ...] = Field((), description="Same as volumeMounts of a container.")
    service_type: Literal["", "ClusterIP", "NodePort", "LoadBalancer"] = Field(
        "", description="Of its service, which listens on port 80; default ClusterIP."
    )
    image: str = Field("", description="Default: that of the role which decides the outcome.")


def pod(job: Job[Any]) -> dict[str, Any] | None:
    """The template of its pod."""
    wanted: TensorBoard | None = job.spec.tensorboard
    if wanted is None:
        return None
    training = _training(job)
    container = next(c for c in training["containers"] if c["name"] == "tensorflow")
    own: dict[str, Any] = {
        "name": "tensorboard",
        "image": wanted.image or container["image"],
        "command": ["tensorboard", "--logdir", wanted.log_dir, "--host", "0.0.0.0"],  # noqa: S104 - a pod's own
        "ports": [{"name": "http", "containerPort": PORT}],
        "volumeMounts": wanted.volume_mounts,
    }
    own |= {field: container[field] for field in ("imagePullPolicy", "securityContext") if field in container}
    shared = {field: training[field] for field in _SHARED if field in training}
    return {"spec": shared | {"containers": [own], "volumes": wanted.volumes}}


def service(job: Job[Any]) -> dict[str, Any]:
    wanted: TensorBoard = job.spec.tensorboard
    port = {"name": "http", "port": 80, "targetPort": PORT}
    return {"type": wanted.service_type or "ClusterIP", "ports": [port]}


def _training(job: Job[Any]) -> dict[str, Any]:
    """The pod spec of a member whose image stands for the job's."""
    role = next((role for role in ("Chief", "Master", "Worker") if role in job.replicas), "PS")
    spec: dict[str, Any] = job.replicas[role].template["spec"]
    return spec


TENSORBOARD = Companion("TensorBoard", pod, service)
NAME_FITS = Rule[Any](
    cel=f"!has(self.spec.tensorboard) || size(self.metadata.name) <= {LONGEST_NAME}",
    holds=lambda job: job.spec.tensorboard is None or len(job.name) <= LONGEST_NAME,
    field=".tensorboard",
    message=f"with a TensorBoard the name of a job may have {LONGEST_NAME} characters at most",
)
