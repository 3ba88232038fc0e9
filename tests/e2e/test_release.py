"""The chart on a real node: two replicas under restricted pod security, and its own test."""

from __future__ import annotations

from tests.chart.release import Release
from tests.e2e import replicas


def test_two_replicas_run_as_nobody_and_one_of_them_leads(release: Release) -> None:
    replicas.wait(release)
    pods = replicas.pods(release)
    assert len(pods) == 2
    assert replicas.leader(release) in pods
    for pod in pods.values():
        assert pod["status"]["phase"] == "Running"
        [container] = pod["spec"]["containers"]
        security = pod["spec"]["securityContext"] | container["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["readOnlyRootFilesystem"] is True


def test_the_charts_own_test_submits_a_job_that_succeeds(release: Release) -> None:
    told = release.helm.run("test", release.name, "--namespace", release.namespace)
    assert told.count("TEST SUITE:") == told.count("Succeeded") > 0, told
