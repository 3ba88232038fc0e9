"""What is read from a pod or a service, and that nothing an API server could say makes us fall over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainop.engine import labels
from trainop.kube import wire
from trainop.kube.port import Change
from trainop.model import GVK, Complaint, Key, SeenContainer, SeenPod, SeenPodGroup, SeenService

OWNER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "name": "mnist",
    "uid": "u-job",
    "controller": True,
}


def a_pod(
    status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **metadata: Any
) -> wire.Pod:
    named = {"name": "mnist-worker-0", "namespace": "ns", "uid": "u-0", "resourceVersion": "7"}
    raw = {"metadata": named | metadata, "spec": spec or {}, "status": status or {}}
    return msgspec.convert(raw, wire.Pod)


def test_a_pod_just_made_is_pending() -> None:
    pod = a_pod(
        creationTimestamp="2024-05-01T12:00:00Z",
        labels={labels.REPLICA_TYPE: "worker", labels.REPLICA_INDEX: "0", "other": "x"},
    )
    assert pod.seen() == SeenPod(
        name="mnist-worker-0",
        uid="u-0",
        created=datetime(2024, 5, 1, 12, tzinfo=UTC),
        role_label="worker",
        index_label="0",
    )


def test_of_a_pod_group_its_phase_and_what_we_manage_is_seen() -> None:
    spec = {"minMember": 2, "queue": "default", "minResources": {"cpu": 1}, "minTaskMember": {"worker": 1}}
    raw = {
        "metadata": {"name": "mnist", "uid": "u"},
        "spec": spec,
        "status": {"phase": "Inqueue", "running": 1},
    }
    ours = {"minMember": 2, "minResources": {"cpu": 1}}
    assert msgspec.convert(raw, wire.PodGroup).seen() == SeenPodGroup("mnist", "u", "Inqueue", spec=ours)


def test_the_end_of_each_container_is_seen() -> None:
    pod = a_pod(
        {
            "phase": "Failed",
            "reason": "Evicted",
            "containerStatuses": [
                {
                    "name": "tensorflow",
                    "restartCount": 2,
                    "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                },
                {"name": "sidecar", "restartCount": 1, "state": {"running": {}}},
            ],
            "initContainerStatuses": [{"name": "fetch", "restartCount": 4}],
        }
    )
    seen = pod.seen()
    assert (seen.phase, seen.reason, seen.ended) == ("Failed", "Evicted", True)
    assert seen.containers == (SeenContainer("tensorflow", 137, "OOMKilled"), SeenContainer("sidecar"))
    assert seen.restarts == 7


def test_restarts_of_native_sidecars_are_not_counted() -> None:
    """DECISIONS "sidecars", `backoffLimit`: those of ordinary containers and init containers are."""
    spec = {
        "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "fetch"}],
        "containers": [{"name": "tensorflow"}],
    }
    status = {
        "containerStatuses": [{"name": "tensorflow", "restartCount": 1}, {"name": "log", "restartCount": 2}],
        "initContainerStatuses": [
            {"name": "proxy", "restartCount": 40},
            {"name": "fetch", "restartCount": 4},
        ],
    }
    assert a_pod(status, spec).seen().restarts == 7


BEFORE, SINCE, AFTER = (f"2024-05-01T12:00:0{second}Z" for second in (1, 2, 3))


@pytest.mark.parametrize(
    ("finished", "since", "cut_off"),
    [
        (BEFORE, SINCE, False),
        (SINCE, SINCE, True),
        (AFTER, SINCE, True),
        (None, SINCE, False),
        (AFTER, None, False),
    ],
)
def test_a_container_is_cut_off_when_it_ends_after_the_cluster_reached_for_its_pod(
    finished: str | None, since: str | None, cut_off: bool
) -> None:
    target = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": since}
    ended = {"name": "tensorflow", "state": {"terminated": {"exitCode": 0, "finishedAt": finished}}}
    seen = a_pod({"phase": "Failed", "conditions": [target], "containerStatuses": [ended]}).seen()
    assert (seen.disrupted, seen.containers) == (True, (SeenContainer("tensorflow", 0, "", cut_off),))


# --- complaints: kubeflow-v1 §6.1, the last three rows and the abnormal-pod rule ------------------------------


def of_container(name: str = "tensorflow", **state: Any) -> dict[str, Any]:
    return {"name": name, "state": state}


RUNS = of_container(running={})
WAITS = of_container(waiting={"reason": "ImagePullBackOff", "message": "Back-off pulling image"})
INITIALIZING = of_container(waiting={"reason": "PodInitializing"})
CRASHED = of_container("log", terminated={"exitCode": 3, "reason": "Error", "message": "m"})
DONE = of_container("log", terminated={"exitCode": 0, "reason": "Completed", "message": "m"})
FULL = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}


@pytest.mark.parametrize(
    ("status", "complaints"),
    [
        ({}, []),
        ({"phase": "Running", "containerStatuses": [RUNS, DONE]}, []),
        ({"phase": "Running", "containerStatuses": [INITIALIZING]}, []),
        (
            {"phase": "Running", "containerStatuses": [WAITS, CRASHED]},
            [
                Complaint("ImagePullBackOff", "Back-off pulling image", "tensorflow"),
                Complaint("Error", "m", "log", 3),
            ],
        ),
        # Containers that wait for the init containers say nothing of their own.
        (
            {"containerStatuses": [INITIALIZING], "initContainerStatuses": [CRASHED]},
            [Complaint("Error", "m", "log", 3)],
        ),
        ({"initContainerStatuses": [CRASHED]}, [Complaint("Error", "m", "log", 3)]),
        # Conditions count only as long as there is no container; the newest counts.
        ({"conditions": [FULL]}, [Complaint("Unschedulable", "0/3 nodes")]),
        ({"conditions": [FULL], "containerStatuses": [RUNS]}, []),
        (
            {
                "conditions": [
                    FULL | {"lastTransitionTime": BEFORE},
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": AFTER},
                ]
            },
            [],
        ),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, []),
        # A pod that has ended is judged by its end.
        ({"phase": "Failed", "containerStatuses": [CRASHED]}, []),
        ({"phase": "Failed", "conditions": [FULL]}, []),
    ],
)
def test_what_the_cluster_says_against_a_pod(status: dict[str, Any], complaints: list[Complaint]) -> None:
    assert list(a_pod(status).seen().complaints) == complaints


def test_nothing_is_said_against_a_pod_that_goes() -> None:
    going = a_pod({"containerStatuses": [CRASHED]}, deletionTimestamp="2024-05-01T12:00:00Z")
    assert going.seen().complaints == ()


def test_of_a_long_message_only_the_beginning_is_kept() -> None:
    novel = of_container(waiting={"reason": "X", "message": "m" * 10_000})
    (complaint,) = a_pod({"containerStatuses": [novel]}).seen().complaints
    assert complaint.message == "m" * wire.LONGEST


@pytest.mark.parametrize(("status", "disrupted"), [("True", True), ("False", False)])
def test_a_disruption_is_the_clusters_doing_only_when_it_is_true(status: str, disrupted: bool) -> None:
    pod = a_pod({"conditions": [{"type": "Ready"}, {"type": "DisruptionTarget", "status": status}]})
    assert pod.seen().disrupted is disrupted


def test_what_has_a_deletion_timestamp_is_being_deleted() -> None:
    assert a_pod(deletionTimestamp="2024-05-01T12:00:00Z").seen().deleting


def test_a_pod_without_a_creation_time_can_still_be_compared_with_now() -> None:
    assert a_pod(creationTimestamp=None).seen().created < datetime.now(UTC)


def test_a_time_without_a_zone_is_not_taken() -> None:
    with pytest.raises(msgspec.ValidationError):
        a_pod(creationTimestamp="2024-05-01T12:00:00")


def test_of_a_service_only_the_metadata_is_read() -> None:
    raw = {
        "metadata": {"name": "mnist-worker-0", "uid": "u-s", "labels": {labels.REPLICA_TYPE: "worker"}},
        "spec": 1,
    }
    service = msgspec.convert(raw, wire.Service)
    assert service.seen() == SeenService("mnist-worker-0", "u-s", role_label="worker")


def test_the_owner_is_the_one_that_controls() -> None:
    other = OWNER | {"uid": "u-other", "controller": False}
    owner = a_pod(ownerReferences=[other, OWNER]).metadata.owner
    assert owner is not None
    assert owner.uid == "u-job"
    assert owner.key("ns") == Key(GVK("kubeflow.org", "v1", "TFJob"), "ns", "mnist")
    assert a_pod(ownerReferences=[other]).metadata.owner is None


def test_an_owner_of_the_core_group_has_no_group() -> None:
    owner = msgspec.convert(OWNER | {"apiVersion": "v1"}, wire.Owner)
    assert owner.key("ns").gvk == GVK("", "v1", "TFJob")


def test_a_bookmark_of_a_real_server_can_be_read() -> None:
    line = (
        b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12746",'
        b'"creationTimestamp":null},"spec":{"containers":null},"status":{}}}'
    )
    change = msgspec.json.decode(line, type=Change[wire.Pod])
    assert change.object.metadata.resource_version == "12746"


# --- fuzz: the right words with the wrong things in them ------------------------------------------------------

words = st.text(max_size=8) | st.sampled_from(
    ["True", "Failed", "DisruptionTarget", "2024-05-01T12:00:00Z", "-1"]
)
things = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(lambda n: usual if n else things)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return mostly(st.fixed_dictionaries({}, optional={key: mostly(value) for key, value in fields.items()}))


container = some(
    name=words,
    restartCount=st.integers(),
    state=some(
        waiting=some(reason=words, message=words),
        terminated=some(exitCode=st.integers(), reason=words, message=words, finishedAt=words),
    ),
)
pods = some(
    metadata=some(
        name=words,
        namespace=words,
        uid=words,
        resourceVersion=words,
        creationTimestamp=words,
        deletionTimestamp=words,
        labels=st.dictionaries(words | st.just(labels.REPLICA_TYPE), words, max_size=3),
        ownerReferences=st.lists(
            some(apiVersion=words, kind=words, name=words, uid=words, controller=st.booleans()), max_size=2
        ),
    ),
    spec=some(initContainers=st.lists(some(name=words, restartPolicy=words), max_size=2)),
    status=some(
        phase=words,
        reason=words,
        conditions=st.lists(
            some(type=words, status=words, reason=words, message=words, lastTransitionTime=words), max_size=2
        ),
        containerStatuses=st.lists(container, max_size=2),
        initContainerStatuses=st.lists(container, max_size=2),
    ),
)


@given(pods)
@pytest.mark.parametrize("shape", [wire.Pod, wire.Service])
def test_whatever_decodes_can_be_seen(shape: type[wire.Pod | wire.Service], raw: Any) -> None:
    try:
        child = msgspec.json.decode(msgspec.json.encode(raw), type=shape)
    except msgspec.ValidationError:
        return
    seen = child.seen()
    if isinstance(seen, SeenPod):
        assert seen.created <= datetime.max.replace(tzinfo=UTC)
    if owner := child.metadata.owner:
        assert owner.key(child.metadata.namespace).name == owner.name
