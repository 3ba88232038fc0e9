"""Gang scheduling. kubeflow-v1 §1.3, §4.6, §5.2, §6.1, T28-T30, T32; DECISIONS `PodGroupUnavailable`."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import (
    MX,
    NOW,
    TF,
    Life,
    Raw,
    a_job,
    a_pod,
    a_status,
    a_template,
    a_world,
    doing,
    everyone,
    later,
    stored,
    told,
)
from trainop.engine import events, gang, labels, pods
from trainop.engine.plan import plan
from trainop.engine.topology import topology
from trainop.model import DEFAULTS, DeletePodGroup, Event, Job, PatchPodGroup, SeenPodGroup, Settings, World

VOLCANO = Settings(gang_scheduler="volcano")
PLUGINS = Settings(gang_scheduler="scheduler-plugins-scheduler")
BOTH = pytest.mark.parametrize("settings", [VOLCANO, PLUGINS])
MAKES_PODS = ["+pod mnist-worker-0", "+service mnist-worker-0"]


def scheduler(settings: Settings) -> gang.Scheduler:
    found = gang.scheduler(settings)
    assert found
    return found


def a_group(
    job: Job[Any], settings: Settings = VOLCANO, phase: str = "Inqueue", **fields: Any
) -> SeenPodGroup:
    spec = gang.manifest(scheduler(settings), job)["spec"]
    return SeenPodGroup(**({"name": job.name, "uid": "group-uid", "phase": phase, "spec": spec} | fields))


def gathered(job: Job[Any], world: World, settings: Settings = VOLCANO, **fields: Any) -> World:
    return replace(world, pod_group=a_group(job, settings, **fields))


def spec(settings: Settings = VOLCANO, **words: Any) -> Raw:
    made: Raw = gang.manifest(scheduler(settings), a_job(TF, **words))["spec"]
    return made


def asking(**resources: Any) -> Raw:
    return a_template(resources=resources)


# --- which scheduler ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("", None), ("None", None), ("none", None), ("NONE", None)),  # T32: however it is spelled
        *((name, gang.Scheduler("volcano", gang.VOLCANO)) for name in ("volcano", "Volcano", "VOLCANO")),
        ("scheduler-plugins-scheduler", gang.Scheduler("scheduler-plugins-scheduler", gang.PLUGINS)),
        ("Mine", gang.Scheduler("Mine", gang.PLUGINS)),
    ],
)
def test_the_name_tells_the_scheduler(name: str, found: gang.Scheduler | None) -> None:
    assert gang.scheduler(Settings(gang_scheduler=name)) == found


# --- the PodGroup ---------------------------------------------------------------------------------------------


def test_the_whole_pod_group_of_volcano() -> None:
    annotations = {"volcano.sh/preemptable": "true", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    policy = {"schedulingPolicy": {"priorityClass": "high", "scheduleTimeoutSeconds": 60}}
    job = a_job(TF, Chief=1, Worker=2, policy=policy, metadata={"annotations": annotations})
    assert gang.manifest(scheduler(VOLCANO), job) == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": "mnist",
            "namespace": "ns",
            "annotations": {"volcano.sh/preemptable": "true"},
            "ownerReferences": [
                {
                    "apiVersion": "kubeflow.org/v1",
                    "kind": "TFJob",
                    "name": "mnist",
                    "uid": "job-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"minMember": 3, "queue": "default", "priorityClassName": "high"},
    }


def test_the_pod_group_of_the_plugins_has_a_timeout_and_neither_queue_nor_priority() -> None:
    policy = {"schedulingPolicy": {"priorityClass": "high", "queue": "q", "scheduleTimeoutSeconds": 60}}
    made = gang.manifest(scheduler(PLUGINS), a_job(MX, Scheduler=1, Worker=2, policy=policy))
    assert (made["apiVersion"], made["kind"]) == ("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    assert made["spec"] == {"minMember": 3, "scheduleTimeoutSeconds": 60}
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ({}, {"minMember": 5, "queue": "default"}),
        ({"minAvailable": 2}, {"minMember": 2, "queue": "default"}),
        ({"minAvailable": 0, "queue": "gpu"}, {"minMember": 0, "queue": "gpu"}),
        (
            {"minResources": {"cpu": 8, "memory": "1024Mi"}},
            {"minMember": 5, "queue": "default", "minResources": {"cpu": "8", "memory": "1Gi"}},
        ),
    ],
)
def test_the_scheduling_policy(policy: Raw, wanted: Raw) -> None:
    assert spec(PS=1, Worker=4, policy={"schedulingPolicy": policy}) == wanted


CPU_1 = asking(requests={"cpu": 1, "memory": "512Mi"}, limits={"cpu": 64})
LIMITS = asking(limits={"cpu": "500m", "nvidia.com/gpu": 2})


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        (None, {"cpu": "4500m", "memory": "1Gi", "nvidia.com/gpu": "10"}),
        (1, {"cpu": "1", "memory": "512Mi"}),
        (3, {"cpu": "2500m", "memory": "1Gi", "nvidia.com/gpu": "2"}),
        (99, {"cpu": "4500m", "memory": "1Gi", "nvidia.com/gpu": "10"}),
        (0, None),
    ],
)
def test_the_first_members_in_the_order_of_the_roles_say_what_is_needed(
    members: int | None, wanted: Raw | None
) -> None:
    """§4.6; T30: the order is the framework's, not by chance. A container without requests asks for its limits."""
    policy = {"schedulingPolicy": {"minAvailable": members}} if members is not None else {}
    made = spec(
        Worker={"replicas": 5, "template": LIMITS}, PS={"replicas": 2, "template": CPU_1}, policy=policy
    )
    assert made.get("minResources") == wanted


@pytest.mark.parametrize(
    "resources",
    [{"requests": {"cpu": "lots"}}, {"requests": {}, "limits": {"cpu": 1}}, "many", None, {"limits": 3}],
)
def test_resources_that_tell_nothing_ask_for_nothing(resources: Any) -> None:
    assert "minResources" not in spec(Worker={"template": a_template(resources=resources)})


# --- pods -----------------------------------------------------------------------------------------------------


def a_manifest_of(settings: Settings) -> Raw:
    """Without what every pod has."""
    job = a_job(TF, PS={"template": a_template(metadata={"annotations": {"mine": "1"}})}, Worker=1)
    pod = pods.manifest(TF, job, next(iter(topology(TF, job))), {}, settings)
    del pod["metadata"]["annotations"][labels.TEMPLATE]
    return pod


def test_volcano_knows_its_pods_by_annotations() -> None:
    pod = a_manifest_of(VOLCANO)
    assert pod["metadata"]["annotations"] == {
        "mine": "1",
        "scheduling.k8s.io/group-name": "mnist",
        "volcano.sh/task-spec": "ps",
    }
    assert pod["spec"]["schedulerName"] == "volcano"


def test_the_plugins_know_their_pods_by_a_label() -> None:
    pod = a_manifest_of(PLUGINS)
    assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "mnist"
    assert pod["metadata"]["annotations"] == {"mine": "1"}
    assert pod["spec"]["schedulerName"] == "scheduler-plugins-scheduler"


def test_without_gang_scheduling_a_pod_is_left_alone() -> None:
    pod = a_manifest_of(DEFAULTS)
    assert "schedulerName" not in pod["spec"]
    assert pod["metadata"]["annotations"] == {"mine": "1"}


@BOTH
def test_another_scheduler_is_kept_with_a_warning_and_the_pod_still_marked(settings: Settings) -> None:
    template = a_template()
    template["spec"]["schedulerName"] = "other"
    job = a_job(TF, Worker={"template": template})
    (member,) = topology(TF, job)
    pod = pods.manifest(TF, job, member, {}, settings)
    assert pod["spec"]["schedulerName"] == "other"
    assert "mnist" in {**pod["metadata"].get("annotations", {}), **pod["metadata"]["labels"]}.values()
    answer = plan(TF, job, gathered(job, a_world(), settings), settings)
    message = "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
    assert answer.events == (Event("Warning", "SettedPodTemplateSchedulerName", message),)
    assert plan(TF, job, a_world()).events == ()


@BOTH
def test_the_gang_scheduler_named_by_the_template_is_no_other(settings: Settings) -> None:
    template = a_template()
    template["spec"]["schedulerName"] = settings.gang_scheduler
    job = a_job(TF, Worker={"template": template})
    assert plan(TF, job, gathered(job, a_world(), settings), settings).events == ()


# --- waiting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "phase", "made"),
    [
        *((VOLCANO, phase, []) for phase in ("", "Pending")),
        *((VOLCANO, phase, MAKES_PODS) for phase in ("Inqueue", "Running", "Unknown", "Completed")),
        *((PLUGINS, phase, MAKES_PODS) for phase in ("", "Pending", "PreScheduling", "Running")),
    ],
)
def test_volcano_says_when_pods_may_be_made(settings: Settings, phase: str, made: list[str]) -> None:
    job = a_job(TF, Worker=1)
    assert doing(plan(TF, job, gathered(job, a_world(), settings, phase=phase), settings)) == made


@BOTH
def test_the_pod_group_comes_before_the_first_pod(settings: Settings) -> None:
    life = Life(TF, a_job(TF, Worker=1), settings=settings)
    first = life.step()
    assert (doing(first), first.wake_after) == (["+group mnist"], 0)
    assert first.status.start_time is None


def test_a_job_starts_when_its_gang_may() -> None:
    """§5.2: the clock of activeDeadlineSeconds does not run while the job waits in a queue."""
    life = Life(TF, a_job(TF, Worker=1, policy={"activeDeadlineSeconds": 60}), settings=VOLCANO)
    life.settle()
    life.at(1000).settle()
    assert life.job.status.start_time is None
    assert life.states == ["Created"]
    life.world = gathered(life.job, life.world, phase="Inqueue")
    answer = life.step()
    assert doing(answer) == MAKES_PODS
    assert (answer.status.start_time, answer.wake_after) == (later(1000), 60)


def test_a_job_that_waits_for_its_gang_has_nothing_new_to_write() -> None:
    """T28."""
    life = Life(TF, a_job(TF, Worker=1), settings=VOLCANO)
    life.step()
    for seconds in (5, 10):
        before = life.job.status
        answer = life.at(seconds).step()
        assert (doing(answer), answer.status) == ([], before)


def test_what_runs_is_tended_while_its_gang_waits() -> None:
    """Only creations are held back: the failed pod is counted and goes, the surplus one goes."""
    job = a_job(TF, Worker=2, restart="OnFailure", status=a_status("Created", "Running", start_time=NOW))
    world = a_world(a_pod("Worker", 0), a_pod("Worker", 1, "Failed", code=1), a_pod("Worker", 2), of=job)
    world = gathered(job, world, phase="Pending")
    first = plan(TF, job, world, VOLCANO)
    assert (doing(first), first.status.restart_count) == (["-pod mnist-worker-2"], 1)
    assert "-pod mnist-worker-1" in doing(plan(TF, stored(job, first.status), world, VOLCANO))


def test_a_pod_group_on_its_way_out_is_waited_for() -> None:
    job = a_job(TF, Worker=1)
    assert doing(plan(TF, job, gathered(job, a_world(), deleting=True), VOLCANO)) == []


# --- in step with the job -------------------------------------------------------------------------------------


@BOTH
def test_scaling_and_min_available_change_the_pod_group_and_nothing_else_does(settings: Settings) -> None:
    """T29: a patch only when something differs."""
    life = Life(TF, a_job(TF, Worker=2), settings=settings)
    life.step()
    life.world = gathered(life.job, life.world, settings)
    life.settle()
    assert "~group mnist" in doing(life.edit(Worker=3).step())
    assert "~group mnist" not in doing(life.step())
    policy = {"schedulingPolicy": {"minAvailable": 1}}
    assert doing(life.edit(Worker=3, policy=policy).step()) == ["~group mnist"]
    assert doing(life.step()) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"queue": "another"},  # §4.6: what stands there wins
        {"minResources": {"cpu": "4000m", "memory": "1024Mi"}},  # the same, written otherwise
        {"minTaskMember": {"worker": 1}},  # not ours
    ],
)
def test_what_is_not_ours_or_means_the_same_is_left_alone(changed: Raw) -> None:
    job = a_job(TF, Worker={"replicas": 4, "template": asking(requests={"cpu": 1, "memory": "256Mi"})})
    group = a_group(job)
    world = replace(everyone(job), pod_group=replace(group, spec={**group.spec, **changed}))
    assert doing(plan(TF, job, world, VOLCANO)) == []


def test_an_empty_field_of_a_pod_group_is_as_good_as_none() -> None:
    """v1's operator writes `minResources: {}`; Go leaves a zero out."""
    job = a_job(TF, Worker=1, policy={"schedulingPolicy": {"minAvailable": 0}})
    world = replace(everyone(job), pod_group=a_group(job, spec={"minResources": {}, "priorityClassName": ""}))
    assert doing(plan(TF, job, world, VOLCANO)) == []


def test_a_patch_names_what_is_gone_and_leaves_the_queue_alone() -> None:
    job = a_job(TF, Worker={"template": asking(requests={"cpu": 1})})
    stale = {"minMember": 1, "minResources": {"cpu": 1, "memory": "1Gi"}, "priorityClassName": "high"}
    world = replace(everyone(job), pod_group=a_group(job, spec=stale))
    (action,) = plan(TF, job, world, VOLCANO).actions
    assert action == PatchPodGroup("mnist", "group-uid", ("memory",))
    assert gang.patch(scheduler(VOLCANO), job, action) == {
        "metadata": {"uid": "group-uid"},
        "spec": {"minMember": 1, "minResources": {"cpu": "1", "memory": None}, "priorityClassName": None},
    }


# --- the end --------------------------------------------------------------------------------------------------


@BOTH
def test_the_pod_group_goes_after_the_verdict_is_stored(settings: Settings) -> None:
    job = a_job(TF, Worker=1)
    world = gathered(job, everyone(job, "Succeeded", code=0), settings)
    life = Life(TF, job, world, settings)
    assert doing(life.step()) == []
    assert doing(life.step()) == ["-group mnist"]
    assert doing(life.step()) == []


@BOTH
def test_a_suspended_job_has_no_pod_group_and_a_resumed_one_gets_another(settings: Settings) -> None:
    job = a_job(TF, Worker=1, status=a_status("Created", "Running", start_time=NOW))
    life = Life(TF, job, gathered(job, everyone(job), settings), settings)
    suspended = life.edit(Worker=1, policy={"suspend": True}).step()
    assert doing(suspended) == ["-pod mnist-worker-0", "-service mnist-worker-0", "-group mnist"]
    assert doing(life.step()) == []
    resumed = life.edit(Worker=1).at(60).step()
    assert (told(resumed), doing(resumed)) == ([("Normal", "TFJobResumed")], [])
    assert doing(life.at(61).step()) == ["+group mnist"]


def test_a_resumed_job_waits_until_the_pod_group_of_the_time_before_is_gone() -> None:
    job = a_job(TF, Worker=1, status=a_status("Created", "Suspended"))
    answer = plan(TF, job, gathered(job, a_world()), VOLCANO)
    assert (doing(answer), answer.events) == (["-group mnist"], ())
    assert doing(plan(TF, job, gathered(job, a_world(), deleting=True), VOLCANO)) == []


def test_users_are_told_when_the_pod_group_is_deleted() -> None:
    """§6.1."""
    assert list(events.of_children([DeletePodGroup("mnist", "group-uid")], "mnist")) == [
        Event("Normal", "JobTerminated", "Job has been terminated. Deleting PodGroup"),
        Event("Normal", "SuccessfulDeletePodGroup", "Deleted PodGroup: mnist"),
    ]


# --- no PodGroups here ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "api", "product"),
    [
        (VOLCANO, "scheduling.volcano.sh/v1beta1", "Volcano"),
        (PLUGINS, "scheduling.x-k8s.io/v1alpha1", "scheduler-plugins"),
    ],
)
def test_without_the_api_nothing_is_made_and_the_job_says_why(
    settings: Settings, api: str, product: str
) -> None:
    world = replace(a_world(), no_pod_groups="the server does not know it")
    answer = plan(TF, a_job(TF, Worker=1), world, settings)
    message = (
        f"no PodGroup of {api} can be made: the server does not know it; install {product}, "
        "or start the operator without --gang-scheduler-name"
    )
    assert (doing(answer), answer.trouble) == ([], ("PodGroupUnavailable", message))
    assert plan(TF, a_job(TF, Worker=1), world).trouble is None


@pytest.mark.parametrize("over", [{"policy": {"suspend": True}}, {"status": a_status("Created", "Failed")}])
def test_a_job_that_needs_no_pods_misses_no_pod_group(over: Raw) -> None:
    world = replace(a_world(), no_pod_groups="the server does not know it")
    assert plan(TF, a_job(TF, Worker=1, **over), world, VOLCANO).trouble is None
