"""Jobs of 2017 and of older versions, converted: the v1 job does what the old one did, or it is told what not."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW, Raw
from tests.frameworks.dialects import a_raw, a_replica, dialect
from tests.generators import any_of
from trainop.convert import Converted, convert
from trainop.engine.children import Children
from trainop.engine.plan import plan
from trainop.framework import Framework
from trainop.model import CreatePod, Job, SeenContainer, SeenPod, SeenService, World
from trainop.parse import parse
from trainop.registry import by_name

KINDS = [
    ("tensorflow.org", "TfJob"),
    ("mlkube.io", "TfJob"),
    ("mlkube.io", "MxJob"),
    ("mxnet.mlkube.io", "MxJob"),
]
TF, MX = by_name()["tensorflow"], by_name()["mxnet"]
TFJOB, MXJOB = dialect("tensorflow.org", "TfJob"), dialect("mlkube.io", "MxJob")
CODES = [None, 0, 1, 2, 127, 130, 137, 143]
"""Those that mean the same then and now; None: it runs."""
# What is told where v1 has no equal. A job of which one of these is told is not compared in that respect.
OTHER_CHIEF, OF_ITS_ROLE = "terminationPolicy: ", ("a worker other than", "a ps other than")
ALONE, LOCAL = "a job of one member gets no TF_CONFIG", "jobMode local: "
SCHEDULER = "a job whose scheduler has ended with 0 had succeeded"
EXIT_CODES = "that ends with 128 or 139"


def converted(raw: Raw) -> Converted:
    found = convert(by_name().values(), raw)
    assert found is not None
    return found


def good(raw: Raw) -> Converted:
    found = converted(raw)
    assert not found.problems
    return found


def told(found: Converted, *beginnings: str) -> bool:
    return any(sentence.startswith(beginnings) for sentence in found.lost)


# --- a thousand jobs ----------------------------------------------------------------------------------------

ENTRIES = any_of(replicas=[None, 1, 2, 3], port=[None, 2222, 9000], gpu=[False, True], sidecar=[False, True])
POLICIES = any_of(
    cleanPodPolicy=[None, "Running", "All"],
    backoffLimit=[None, 2],
    activeDeadlineSeconds=[None, 60],
    cleanupPodPolicy=[None, "Running"],
    schedulerName=[None, "mine"],
    tensorboard=[None, {"logDir": "/logs", "serviceType": "LoadBalancer"}],
)


def entry(container: str, type_field: str, type_: str, port_field: str, words: Raw) -> Raw:
    made = a_replica(container, **{type_field: type_})
    if words["replicas"] and type_ not in ("MASTER", "SCHEDULER"):
        made["replicas"] = words["replicas"]
    if words["port"]:
        made[port_field] = words["port"]
    if words["gpu"]:
        made["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    if words["sidecar"]:
        made["template"]["spec"]["containers"].append({"name": "sidecar", "image": "s"})
    return made


@st.composite
def tf_jobs(draw: st.DrawFn) -> Raw:
    framework = dialect(draw(st.sampled_from(["tensorflow.org", "mlkube.io"])), "TfJob")
    types = draw(st.sampled_from([["MASTER"], ["WORKER"], ["MASTER", "WORKER"], ["MASTER", "PS", "WORKER"],
                                  ["WORKER", "PS"], ["MASTER", "PS"]]))  # fmt: skip
    entries = [entry("tensorflow", "tfReplicaType", type_, "tfPort", draw(ENTRIES)) for type_ in types]
    if "PS" in types and draw(st.booleans()):
        del entries[types.index("PS")]["template"]
    spec = {key: value for key, value in draw(POLICIES).items() if value is not None}
    there = [
        (type_, i) for type_, it in zip(types, entries, strict=True) for i in range(it.get("replicas", 1))
    ]
    if "MASTER" not in types or draw(st.booleans()):
        name, index = draw(st.sampled_from(there))
        spec["terminationPolicy"] = {"chief": {"replicaName": name, "replicaIndex": index}}
    return a_raw(framework, *entries, **spec)


@st.composite
def mx_jobs(draw: st.DrawFn) -> Raw:
    framework = dialect(draw(st.sampled_from(["mlkube.io", "mxnet.mlkube.io"])), "MxJob")
    mode = draw(st.sampled_from(["dist", "dist", "local"]))
    types = ["SCHEDULER", "SERVER", "WORKER"] if mode == "dist" else ["WORKER"]
    entries = [entry("mxnet", "mxReplicaType", type_, "PsRootPort", draw(ENTRIES)) for type_ in types]
    if mode == "local":
        entries[0].pop("replicas", None)
    spec = {key: it for key, it in draw(POLICIES).items() if it is not None and key != "tensorboard"}
    return a_raw(framework, *entries, jobMode=mode, **spec)


def of_kind(raw: Raw) -> Framework[Any]:
    return dialect(raw["apiVersion"].partition("/")[0], raw["kind"])


def both(raw: Raw) -> tuple[tuple[Framework[Any], Job[Any]], tuple[Framework[Any], Job[Any]], Converted]:
    old, found = of_kind(raw), good(raw)
    new = TF if old.name == "tensorflow" else MX
    stored = {**found.job, "metadata": {**found.job["metadata"], "uid": "job-uid", "generation": 1}}
    return (old, parse(old, raw)), (new, parse(new, stored, strict=True)), found


def pods_of(framework: Framework[Any], job: Job[Any]) -> dict[tuple[str, int], Raw]:
    """By role and index, with the names of members in place of those of pods, and of ports."""
    children, found = Children(framework, job), {}
    members = [a.member for a in plan(framework, job, World(now=NOW)).actions if isinstance(a, CreatePod)]
    for member in members:
        text = json.dumps(children.manifest(CreatePod(member))["spec"])
        for other in sorted(members, key=lambda it: -len(it.name)):
            for name in filter(None, (other.address, other.name)):
                text = text.replace(name, f"<{other.role} {other.index}>")
        text = text.replace(f'"name": "{framework.port_name}"', '"name": "<port>"')
        found[member.role, member.index] = json.loads(text)
    return found


def env_of(pod: Raw) -> dict[str, Any]:
    found = {it["name"]: it["value"] for it in pod["containers"][0].pop("env", ())}
    if "TF_CONFIG" in found:
        found["TF_CONFIG"] = json.loads(found["TF_CONFIG"])
    return found


def world_of(framework: Framework[Any], job: Job[Any], codes: dict[tuple[str, int], int | None]) -> World:
    pods, services = [], []
    for (role, index), code in codes.items():
        name = framework.manner.child_name(job, role, index)
        phase = "Running" if code is None else "Failed" if code else "Succeeded"
        containers = (SeenContainer(framework.container, code),)
        pods.append(SeenPod(name, name, NOW, phase, containers=containers,
                            role_label=role.lower(), index_label=str(index)))  # fmt: skip
        services.append(SeenService(name, name))
    return World(pods=tuple(pods), services=tuple(services), now=NOW)


def end_of(framework: Framework[Any], job: Job[Any], codes: dict[tuple[str, int], int | None]) -> Any:
    """What is said of the job when its members have come so far, and how often they were tried again."""
    status = plan(framework, job, world_of(framework, job, codes)).status
    said = [(it.type, it.status) for it in status.conditions if it.type != "Created"]
    counts = {role: (it.active, it.succeeded, it.failed) for role, it in status.replica_statuses.items()}
    return sorted(said), counts, status.restart_count


@settings(max_examples=1000, derandomize=True, deadline=None, database=None)
@given(raw=st.one_of(tf_jobs(), tf_jobs(), mx_jobs()), data=st.data())
def test_a_converted_job_does_what_it_did(raw: Raw, data: st.DataObject) -> None:
    (old, before), (new, after), found = both(raw)
    assert not after.problems
    assert before.policy == after.policy
    compare_pods(pods_of(old, before), pods_of(new, after), found)
    codes = {
        (role, index): data.draw(st.sampled_from(CODES))
        for role, replica in before.replicas.items()
        for index in range(replica.replicas)
    }
    # A scheduler ended well while a worker had failed: what that means now is told.
    failed = any(code in (1, 2, 127) for (role, _), code in codes.items() if role == "Worker")
    other_end = codes.get(("Scheduler", 0)) == 0 and failed and told(found, SCHEDULER)
    if not other_end and not told(found, OTHER_CHIEF, *OF_ITS_ROLE):
        assert end_of(old, before, codes) == end_of(new, after, codes)


def compare_pods(
    before: dict[tuple[str, int], Raw], after: dict[tuple[str, int], Raw], found: Converted
) -> None:
    assert before.keys() == after.keys()
    for member, pod in before.items():
        old, new = env_of(pod), env_of(after[member])
        if not told(found, ALONE):
            # MX_CONFIG and some DMLC_* are there besides: that is told as a change.
            assert old.items() <= new.items()
        if found.job["kind"] == "MXJob":
            for container in after[member]["containers"]:
                container.pop("env", None)
        if told(found, *OF_ITS_ROLE):
            # v1 has one policy for a role, and here only one of it was judged by its exit code.
            del pod["restartPolicy"], after[member]["restartPolicy"]
        assert pod == after[member], member


# --- what is told -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("role", "index"), [*product(["WORKER", "PS"], [0, 1])])
def test_a_chief_that_v1_does_not_have_is_told(role: str, index: int) -> None:
    policy = {"chief": {"replicaName": role, "replicaIndex": index}}
    entries = [a_replica("tensorflow", tfReplicaType=it, replicas=2) for it in ("WORKER", "PS")]
    raw = a_raw(TFJOB, a_replica("tensorflow"), *entries, terminationPolicy=policy)
    sentence = f"terminationPolicy: {role.lower()} {index} ended the job; now master 0 does"
    assert sentence in good(raw).lost


def test_worker_0_as_the_chief_of_a_job_without_a_master_is_the_rule_of_v1() -> None:
    policy = {"chief": {"replicaName": "WORKER"}}
    one = a_raw(TFJOB, a_replica("tensorflow", tfReplicaType="WORKER"), terminationPolicy=policy)
    two = a_raw(TFJOB, a_replica("tensorflow", tfReplicaType="WORKER", replicas=2), terminationPolicy=policy)
    assert not told(good(one), OTHER_CHIEF, *OF_ITS_ROLE)
    assert told(good(two), *OF_ITS_ROLE)
    assert not told(good(two), OTHER_CHIEF)


def test_a_ps_that_alone_decides_cannot_be_converted() -> None:
    policy = {"chief": {"replicaName": "PS"}}
    raw = a_raw(TFJOB, a_replica("tensorflow", tfReplicaType="PS"), terminationPolicy=policy)
    [problem] = converted(raw).problems
    assert problem.path == "spec.tfReplicaSpecs"


def test_a_local_job_is_told_of_a_cluster_now() -> None:
    assert told(good(a_raw(MXJOB, a_replica("mxnet"), jobMode="local")), LOCAL)


def test_exit_codes_that_mean_something_else_now_are_told_of_every_job() -> None:
    for raw in (a_raw(TFJOB, a_replica("tensorflow")), a_raw(MXJOB, a_replica("mxnet"), jobMode="local")):
        assert [sentence for sentence in good(raw).lost if EXIT_CODES in sentence]


def test_a_field_that_nobody_read_is_told_and_left_out() -> None:
    found = good(a_raw(TFJOB, a_replica("tensorflow"), colour="red"))
    assert "spec.colour: nobody has ever read this field" in found.lost
    assert "colour" not in found.job["spec"]


def test_a_mistake_is_told_in_the_words_of_the_dialect() -> None:
    found = converted(a_raw(TFJOB, a_replica("tensorflow", tfReplicaType="CHIEF")))
    assert (found.job, len(found.problems)) == ({}, 1)
    assert "CHIEF but must be one of [MASTER PS WORKER]" in str(found.problems[0])


# --- kinds and versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_every_dialect_is_converted_to_the_kind_of_its_framework(group: str, kind: str) -> None:
    container = "tensorflow" if kind == "TfJob" else "mxnet"
    mode = {"jobMode": "local"} if kind == "MxJob" else {}
    found = good(a_raw(dialect(group, kind), a_replica(container), **mode))
    assert (found.job["apiVersion"], found.job["kind"]) == ("kubeflow.org/v1", kind[:2].upper() + "Job")
    assert found.job["spec"]["runPolicy"] == {"cleanPodPolicy": "None"}


def test_tfjob_of_tensorflow_org_is_tfjob_in_another_letter_case() -> None:
    raw = a_raw(TFJOB, a_replica("tensorflow"))
    assert good({**raw, "kind": "TFJob"}).job == good(raw).job


@pytest.mark.parametrize("field", ["cleanupPodPolicy", "cleanuppodpolicy", "cleanup_pod_policy"])
def test_kubeflow_v1alpha1_took_everything_away_at_the_end_unless_told_otherwise(field: str) -> None:
    raw = {**a_raw(TFJOB, a_replica("tensorflow")), "apiVersion": "kubeflow.org/v1alpha1", "kind": "TFJob"}
    assert good(raw).job["spec"]["runPolicy"] == {"cleanPodPolicy": "All"}
    for written, meant in (("Running", "Running"), ("None", "None"), ("", "All"), (None, "All")):
        other = {**raw, "spec": {**raw["spec"], field: written}}
        assert good(other).job["spec"]["runPolicy"] == {"cleanPodPolicy": meant}


ALPHA = {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MXJob"}


def an_alpha_mxjob(**spec: Any) -> Raw:
    types = ("SCHEDULER", "SERVER", "WORKER")
    return a_raw(MXJOB, *(a_replica("mxnet", mxReplicaType=it) for it in types), **spec) | ALPHA


def test_kubeflow_v1alpha1_mxjobs_had_no_mode() -> None:
    dist = good(an_alpha_mxjob(schedulerName="mine"))
    replicas = dist.job["spec"]["mxReplicaSpecs"]
    assert list(replicas) == ["Scheduler", "Server", "Worker"]
    assert {it["template"]["spec"]["schedulerName"] for it in replicas.values()} == {"mine"}
    assert "every member has a service, not the scheduler alone" not in dist.changed
    assert told(good(a_raw(MXJOB, a_replica("mxnet")) | ALPHA), LOCAL)


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({}, "worker 0 alone ended the job; now the scheduler does"),
        ({"terminationPolicy": None}, "worker 0 alone ended the job; now the scheduler does"),
        (
            {"terminationPolicy": {"chief": {"replicaName": "SERVER", "replicaIndex": 1}}},
            "server 1 alone ended",
        ),
        ({"terminationPolicy": {"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}}}, SCHEDULER),
    ],
)
def test_kubeflow_v1alpha1_mxjobs_had_a_chief(policy: Raw, sentence: str) -> None:
    found = good(an_alpha_mxjob(**policy))
    assert told(found, sentence)
    assert sum(told(found, it) for it in ("worker 0 alone", "server 1 alone", SCHEDULER)) == 1
    assert not [it for it in found.lost if "nobody has ever read" in it]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1", "v1alpha2"])
def test_an_older_version_has_its_limits_in_the_run_policy(version: str) -> None:
    worker = {"template": a_replica("tensorflow")["template"]}
    spec = {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinishing": 60,
        "schedulerName": "mine",
        "tfReplicaSpecs": {"Worker": {**worker, "colour": "red"}},
    }
    raw = {"apiVersion": f"kubeflow.org/{version}", "kind": "TFJob", "metadata": {"name": "a"}, "spec": spec}
    found = good(raw)
    assert found.job == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "a"},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 60},
            "tfReplicaSpecs": {"Worker": worker},
        },
    }
    assert found.changed == (
        "spec.ttlSecondsAfterFinishing is now called ttlSecondsAfterFinished",
        "spec.cleanPodPolicy is now in spec.runPolicy",
        "spec.ttlSecondsAfterFinished is now in spec.runPolicy",
    )
    assert set(found.lost) == {
        "spec.schedulerName: kubeflow.org/v1 has no such field",
        "spec.tfReplicaSpecs.Worker.colour: kubeflow.org/v1 has no such field",
    }


def test_a_v1_job_stays_what_it_is_but_for_what_the_api_server_wrote() -> None:
    template = a_replica("tensorflow")["template"]
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "a", "annotations": {"mine": "1"}, "labels": {"team": "b"}},
        "spec": {"cleanPodPolicy": "All", "tfReplicaSpecs": {"Worker": {"template": template}}},
    }
    written = {
        "uid": "u",
        "resourceVersion": "1",
        "generation": 2,
        "managedFields": [],
        "creationTimestamp": "t",
    }
    notes = {"mine": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    stored = {**job, "metadata": {**job["metadata"], **written, "annotations": notes}, "status": {"a": 1}}  # type: ignore[dict-item]  # a mapping
    found = good(stored)
    assert (found.job, found.same, found.changed, found.lost) == (job, True, (), ())


@pytest.mark.parametrize("raw", [{}, {"kind": "ConfigMap", "apiVersion": "v1"}, {"kind": "TFJob"}])
def test_what_is_no_job_is_not_converted(raw: Raw) -> None:
    assert convert(by_name().values(), raw) is None
