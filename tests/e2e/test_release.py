"""The chart on a real node: two replicas under restricted pod security, and its own test."""

from __future__ import annotations

from tests.e2e.operator import Operator


def test_two_replicas_run_as_nobody_and_one_of_them_leads(operator: Operator) -> None:
    pods = operator.pods()
    assert len(pods) == 2
    assert operator.leader() in pods
    for pod in pods.values():
        assert pod["status"]["phase"] == "Running"
        [container] = pod["spec"]["containers"]
        security = pod["spec"]["securityContext"] | container["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["readOnlyRootFilesystem"] is True


def test_the_charts_own_test_submits_a_job_that_succeeds(operator: Operator) -> None:
    assert "Phase:          Succeeded" in operator.test()
