"""Jobs, worlds and stored statuses out of nowhere, for properties: anything may stand beside anything."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.builders import MX, NAME, NOW, PT, TF, XGB, a_job, a_pod, a_service, a_status, a_world, later
from trainop.api.status import JobStatus
from trainop.framework import Framework
from trainop.model import Job, SeenPod, SeenPodGroup, SeenService, World

Scene = tuple[Framework[Any], Job[Any], World]
Script = tuple[Framework[Any], dict[str, Any]]
"""A framework, and a job of it in the words of `a_job`."""
Move = tuple[str, int, int | None]
"""What happens, to which pod, and its exit code."""


def any_of(**choices: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Every combination. One draw for all of them: many small draws are what makes properties slow."""
    return st.sampled_from([dict(zip(choices, values, strict=True)) for values in product(*choices.values())])


CASTS: list[tuple[Framework[Any], str, tuple[str, ...]]] = [
    (TF, "Chief", ("PS", "Worker", "Evaluator")),
    (TF, "Master", ("PS", "Worker")),
    (TF, "Worker", ("PS", "Evaluator")),
    (MX, "Scheduler", ("Server", "Worker")),
    (MX, "Worker", ("Server",)),
    (MX, "Tuner", ("TunerTracker", "TunerServer")),
    (PT, "Master", ("Worker",)),
    (PT, "Worker", ()),
    (XGB, "Master", ("Worker",)),
]
"""The framework, the role that decides, and who else may be there."""
RESTARTS = ["Always", "OnFailure", "Never", "ExitCode"]
CODES = [None, 0, 1, 127, 128, 130, 137, 139, 143]
DECIDERS = any_of(replicas=[1, 2, 3, 4], restartPolicy=RESTARTS)
OTHERS = any_of(replicas=[1, 0, 2, 4], restartPolicy=RESTARTS)
POLICIES = any_of(
    cleanPodPolicy=["Running", "All", "None"],
    backoffLimit=[None, 0, 1, 3],
    activeDeadlineSeconds=[None, 1, 60],
    ttlSecondsAfterFinished=[None, 0, 60],
    suspend=[False, False, True],
)
OPTIONS = {
    "TFJob": any_of(
        enableDynamicWorker=[False, True],
        successPolicy=["", "AllWorkers"],
        tensorboard=[None, {"logDir": "/logs"}],
    ),
    "MXJob": any_of(jobMode=["MXTrain", "MXTune"]),
    "PyTorchJob": any_of(elasticPolicy=[None, {"minReplicas": 1}], nprocPerNode=[None, "2"]),
    "XGBoostJob": any_of(),
}
FATES = any_of(
    phase=["Pending", "Running", "Succeeded", "Failed", "Failed", "Unknown"],
    code=CODES,
    deleting=[False, False, True],
    disrupted=[False, False, True],
    restarts=[0, 1, 3],
    reason=["", "", "Evicted"],
)
HISTORIES = st.sampled_from(
    [
        *((), ("Created",), ("Created", "Running"), ("Created", "Restarting"), ("Created", "Suspended")),
        *(("Created", "!Suspended", "Running"), ("Created", "!Running", "Suspended"), ("Blocked", "Running")),
        *(("Created", "!Running", "Succeeded"), ("Created", "Failed"), ("Succeeded", "Failed")),
    ]
)
MEMORIES = any_of(
    active=[0, 1, 9],
    succeeded=[0, 2, 9],
    succeeded_indexes=["", "0", "0-2", "1,3", "7", "-1", "1e3", "2-0", "0-999999999"],
)
ROLES = {
    framework.kind: st.sampled_from([role.name for role in framework.roles])
    for framework in (TF, MX, PT, XGB)
}
PLACES = {
    kind: st.lists(st.tuples(roles, st.integers(0, 5)), max_size=7, unique=True)
    for kind, roles in ROLES.items()
}
COUNTERS = {kind: st.dictionaries(roles, MEMORIES, max_size=3) for kind, roles in ROLES.items()}
RECORDS = any_of(
    start_time=[None, NOW, later(-30), later(-3600)],
    completion_time=[None, None, NOW, later(-60)],
    restart_count=[0, 1, 4],
)
STRANGERS: list[SeenPod | SeenService] = [
    a_pod("Worker", 0, name=f"{NAME}-worker--1", index_label="-1", uid="stranger-1"),
    a_pod("Worker", 0, name=f"{NAME}-worker-1000000000", index_label="1000000000", uid="stranger-2"),
    a_pod("Worker", 0, "Failed", code=1, name=f"{NAME}-worker-1e3", index_label="1e3", uid="stranger-3"),
    a_pod("Worker", 0, name="other-worker-0", uid="stranger-4"),
    a_pod("Worker", 9, index_label="", uid="stranger-5"),
    a_pod("Cook", 0, uid="stranger-6"),
    a_service("Worker", 0, name=f"{NAME}-worker--1", index_label="-1", uid="stranger-7"),
    a_service("Cook", 0, uid="stranger-8"),
]
"""Children that carry the job's owner reference and belong to no member."""
GROUPS = st.builds(
    SeenPodGroup,
    name=st.just(NAME),
    uid=st.just("group"),
    phase=st.sampled_from(["", "Pending", "Inqueue", "Running"]),
    deleting=st.booleans(),
    spec=st.sampled_from([{}, {"minMember": 1}, {"minResources": {"cpu": "x"}, "minMember": 3}]),
)
MOVES: st.SearchStrategy[Move] = st.tuples(
    st.sampled_from(
        [
            *("run", "run", "succeed", "fail", "fail", "evict", "bounce", "delete", "vanish", "vanish"),
            *("wait", "suspend", "resume", "scale", "crash", "idle"),
        ]
    ),
    st.integers(0, 11),
    st.sampled_from(CODES),
)


def a_stranger(child: SeenPod | SeenService) -> bool:
    return child.uid.startswith("stranger")


@st.composite
def jobs(draw: st.DrawFn) -> Script:
    framework, decider, others = draw(st.sampled_from(CASTS))
    alone = any(role.most == 1 for role in framework.roles if role.name == decider)
    words: dict[str, Any] = {decider: draw(DECIDERS) | ({"replicas": 1} if alone else {})}
    words |= {role: draw(OTHERS) for role in others if draw(st.booleans())}
    return framework, words | {"policy": draw(POLICIES), "spec": draw(OPTIONS[framework.kind])}


@st.composite
def pods(draw: st.DrawFn, framework: Framework[Any]) -> list[SeenPod]:
    return [
        a_pod(role, index, container=framework.container, **draw(FATES))
        for role, index in draw(PLACES[framework.kind])
    ]


@st.composite
def statuses(draw: st.DrawFn, framework: Framework[Any], seen: list[SeenPod]) -> JobStatus:
    return a_status(
        *draw(HISTORIES),
        replica_statuses=draw(COUNTERS[framework.kind]),
        restarts_counted={pod.uid: draw(st.integers(0, 4)) for pod in seen[:2]},
        **draw(RECORDS),
    )


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    framework, words = draw(jobs())
    seen = draw(pods(framework))
    served = [a_service(pod.role_label, int(pod.index_label)) for pod in seen[draw(st.integers(0, 3)) :]]
    strangers = draw(st.lists(st.sampled_from(STRANGERS), max_size=3, unique=True))
    job = a_job(framework, **words, status=draw(statuses(framework, seen)))
    assert not job.problems, job.problems
    if draw(st.integers(0, 9)) == 9:
        job = replace(job, deleting=True)
    return framework, job, a_world(*seen, *served, *strangers)
