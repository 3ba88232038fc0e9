"""What is said of a pod template that has not the shape we look into: the place, and nothing of what stands there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import TF, Raw, a_job, a_template
from tests.test_parse import problems


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ({"spec": "x"}, "spec"),
        ({"spec": {"containers": {}}}, "spec.containers"),
        ({"spec": {"containers": ["x"]}}, "spec.containers[0]"),
        ({"spec": {"containers": [{"image": "x"}]}}, "spec.containers[0].name"),
        (a_template(image=1), "spec.containers[0].image"),
        (a_template(ports=[{"name": "tfjob-port"}]), "spec.containers[0].ports[0].containerPort"),
        (a_template(ports=[{"container_port": 80}]), "spec.containers[0].ports[0].containerPort"),
        (a_template(ports=[{"containerPort": "http"}]), "spec.containers[0].ports[0].containerPort"),
        (a_template(ports=7), "spec.containers[0].ports"),
        (a_template(env=["A=1"]), "spec.containers[0].env[0]"),
        (a_template(env=[{"value": "1"}]), "spec.containers[0].env[0].name"),
        (a_template(metadata="x"), "metadata"),
        (a_template(metadata={"labels": {"version": 1}}), "metadata.labels.version"),
        (a_template(metadata={"annotations": []}), "metadata.annotations"),
    ],
)
def test_what_we_look_into_in_a_template_has_its_shape(template: Raw, path: str) -> None:
    """ARCHITECTURE: plan cannot fail, so what it looks at has been looked at before."""
    job = a_job(TF, Worker={"template": template})
    assert list(problems(job)) == [f"spec.tfReplicaSpecs.Worker.template.{path}"]


@pytest.mark.parametrize(
    "env",
    [
        {"PASSWORD": "hunter2"},
        ["PASSWORD=hunter2"],
        "PASSWORD=hunter2",
        [{"name": {"PASSWORD": "hunter2"}, "value": "hunter2"}],
        [{"name": ["hunter2"]}],
    ],
)
def test_what_stands_in_a_template_is_not_repeated(env: Any) -> None:
    """Mistakes are told in logs, events and conditions; SECURITY: never secrets or environment."""
    told = str(problems(a_job(TF, Worker={"template": a_template(env=env)})))
    assert "template.spec.containers[0].env" in told
    assert "hunter2" not in told


def test_a_number_in_a_template_is_not_repeated_either() -> None:
    (told,) = problems(a_job(TF, Worker={"template": a_template(image=1234)})).values()
    assert told == "must be text, not a number; put it in quotes"
