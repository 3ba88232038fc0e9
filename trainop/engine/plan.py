"""What should happen next to a job: the questions, in order. The first that has an answer ends the pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trainop.api.spec import RestartPolicy
from trainop.api.status import ConditionType, JobStatus
from trainop.engine import (
    cleanup,
    complaints,
    conditions,
    deadline,
    gang,
    labels,
    pods,
    restart,
    roster,
    suspend,
)
from trainop.engine import status as counters
from trainop.engine.roster import Place, Roster, State
from trainop.engine.topology import topology
from trainop.framework import Framework
from trainop.model import (
    DEFAULTS,
    Action,
    CreatePod,
    CreatePodGroup,
    CreateService,
    DeleteJob,
    DeletePod,
    Event,
    Failed,
    Job,
    Plan,
    Settings,
    StampJob,
    Succeeded,
    Topology,
    Trouble,
    Undecided,
    World,
)

AT_ONCE = 0.0
"""Seconds: the next pass does what this one must store first."""
OTHERS_START = 0.25
"""Seconds in which the members of a job that start together have done so, on a busy cluster, too."""


class Scene(Struct, frozen=True):
    """All that the questions look at."""

    framework: Framework[Any]
    job: Job[Any]
    world: World
    settings: Settings
    topology: Topology
    roster: Roster
    ready: bool
    """Pods and services may be made: no gang scheduler has to find room for them first."""


def plan(framework: Framework[Any], job: Job[Any], world: World, settings: Settings = DEFAULTS) -> Plan:
    if not job.policy.ours or job.deleting:
        return Plan(status=job.status)
    if _unstamped(framework, job):
        return Plan(status=job.status, actions=(StampJob(),), wake_after=AT_ONCE)
    members = topology(framework, job, settings.cluster_domain)
    if (oversize := pods.oversize(framework, job, members)) is not None:
        job = replace(job, problems=(oversize,))
    ready = gang.ready(settings, world)
    status = _started(framework, job, world, ready=ready)
    started = job if status is job.status else replace(job, status=status)
    places = roster.call(framework, started, members, world)
    scene = Scene(framework, started, world, settings, members, places, ready)
    for question in (_finished, _invalid, _suspended, _resumed, _decided, _out_of_limits):
        answer = question(scene)
        if answer is not None:
            return _with_remarks(job, answer)
    return _with_remarks(job, _under_way(scene))


def _unstamped(framework: Framework[Any], job: Job[Any]) -> bool:
    stamp = framework.manner.stamp
    return stamp is not None and not job.problems and not job.status.finished and bool(stamp(job))


def _with_remarks(job: Job[Any], answer: Plan) -> Plan:
    """Told once, when the job is taken up."""
    if not job.remarks or job.status.condition(ConditionType.CREATED):
        return answer
    remark = Event("Warning", labels.READ_AS, "; ".join(job.remarks))
    return replace(answer, events=(remark, *answer.events))


def _finished(scene: Scene) -> Plan | None:
    """The verdict is on record: clean up after it, and delete the job when its time is over."""
    job = scene.job
    if not job.status.finished:
        return None
    left = deadline.ttl_left(job, scene.world.now)
    if left == 0:
        return Plan(status=job.status, actions=(DeleteJob(),))
    actions = (
        *cleanup.after_end(job, scene.roster),
        *gang.take_away(scene.world.pod_group),
        *_beside(scene),
    )
    status = job.status if _left_behind(job.status) else counters.after_end(job.status, scene.roster)
    return Plan(status=status, actions=actions, wake_after=left)


def _invalid(scene: Scene) -> Plan | None:
    """Failed; but a job that has started is left alone until someone mends it: its pods may be doing well under
    a spec that an older operator took, or that was right before an edit."""
    if not scene.job.problems:
        return None
    problems = "; ".join(map(str, scene.job.problems))
    message = labels.say(scene.framework.wording.invalid, scene.framework, scene.job, problems=problems)
    if scene.job.status.start_time:
        return Plan(status=scene.job.status, trouble=Trouble("InvalidSpec", message))
    return _end(scene, scene.job.status, ConditionType.FAILED, "FailedValidation", message, "Warning")


def _suspended(scene: Scene) -> Plan | None:
    """No pods. A verdict that nobody has stored yet comes first: it would go with the pods that tell it."""
    job, already = scene.job, scene.job.status.is_true(ConditionType.SUSPENDED)
    if not job.policy.suspend:
        return None
    if not already and (decided := _decided(scene)):
        return decided
    status = suspend.suspended(scene.framework, job, counters.idle(job, job.status), scene.world.now)
    told = () if already else (_news(scene, "Suspended", labels.IS_SUSPENDED),)
    actions = tuple(suspend.take_away(scene.roster, scene.world.pod_group))
    return Plan(status=status, actions=actions, events=told)


def _resumed(scene: Scene) -> Plan | None:
    """The job begins anew when the last pod of the time before is gone: none can be taken for a new one."""
    job, group = scene.job, scene.world.pod_group
    if not job.status.is_true(ConditionType.SUSPENDED):
        return None
    if group or any(scene.roster.pods()):
        return Plan(status=job.status, actions=tuple(suspend.take_away(scene.roster, group)))
    status = suspend.resumed(scene.framework, job, job.status, scene.world.now)
    return Plan(status=status, events=(_news(scene, "Resumed", labels.IS_RESUMED),), wake_after=AT_ONCE)


def _decided(scene: Scene) -> Plan | None:
    """Success of the deciding role first, then failure. Nothing is deleted before the verdict is stored."""
    framework, job = scene.framework, scene.job
    told = _exits(scene, State.SUCCEEDED, State.FAILED)
    match framework.outcome(job, roster.tally(framework, job, scene.roster)):
        case Undecided():
            return None
        case Succeeded():
            # That those who decide have ended with 0 is what the job's own event says.
            told = _exits(scene, State.SUCCEEDED, State.FAILED, but=framework.deciding(job))
            message = labels.say(framework.wording.succeeded, framework, job)
            ended = _end(scene, _observed(scene), ConditionType.SUCCEEDED, "Succeeded", message)
        case Failed(role, count) if job.replicas[role].restart_policy is RestartPolicy.EXIT_CODE:
            message = labels.say(labels.IS_FAILING, framework, job, role=role)
            ended = _end(scene, _observed(scene), ConditionType.FAILED, "Failed", message, "Warning")
        case Failed(role, count):
            message = labels.say(framework.wording.failed, framework, job, role=role, count=count)
            ended = _end(scene, _observed(scene), ConditionType.FAILED, "Failed", message)
    return replace(ended, events=(*told, *ended.events))


def _out_of_limits(scene: Scene) -> Plan | None:
    job = scene.job
    if restart.over_limit(job.status, job.policy.backoff_limit):
        sentence = labels.OVER_BACKOFF
    elif deadline.active_left(job, job.status, scene.world.now) == 0:
        sentence = labels.OVER_DEADLINE
    else:
        return None
    message = labels.say(sentence, scene.framework, job)
    return _end(scene, _observed(scene), ConditionType.FAILED, "Failed", message)


def _under_way(scene: Scene) -> Plan:
    """Restart what failed, make what is missing, remove what is surplus."""
    counted = restart.count(_observed(scene), _tries(scene))
    news = counted.restart_count > scene.job.status.restart_count
    actions = list(gang.tend(scene.settings, scene.job, scene.world))
    for place in scene.roster.places:
        actions += _tend(scene, place, ready=scene.ready, hold_retries=news)
    actions += [action for place in reversed(scene.roster.surplus) for action in cleanup.delete(place)]
    actions += _beside(scene)
    events = [*_warnings(scene, actions), *complaints.told(scene.roster), *_exits(scene, State.SUCCEEDED)]
    if news:
        events += [*_exits(scene, State.RETRY), *_restarts(scene)]
    status = _running_or_restarting(scene, counted)
    # A PodGroup of our own making wakes nobody: the next pass goes on from there.
    gathering = any(isinstance(action, CreatePodGroup) for action in actions)
    left = deadline.active_left(scene.job, scene.job.status, scene.world.now)
    return Plan(
        status=status,
        actions=tuple(actions),
        events=tuple(events),
        trouble=gang.trouble(scene.settings, scene.world),
        may_wait=OTHERS_START if _starting(scene, status) else 0.0,
        wake_after=AT_ONCE if gathering or news else left,
    )


def _beside(scene: Scene) -> Iterator[Action]:
    """Companions wait for nobody and outlive the training. Last: what is wrong with one must not stop a member."""
    for place in scene.roster.companions:
        yield from _tend(scene, place, ready=True, hold_retries=False)


def _tend(scene: Scene, place: Place, *, ready: bool, hold_retries: bool) -> Iterator[Action]:
    """What one member needs. A count that rises in this pass is acted on in the next."""
    pod = place.pod
    anew = place.state in (State.LOST, State.OUTDATED) or (place.state is State.RETRY and not hold_retries)
    if pod and anew:
        yield DeletePod(place.member.role, pod.name, pod.uid)
    elif place.state is State.MISSING and ready:
        yield CreatePod(place.member)
    lacks = place.service is None and scene.framework.serves(place.member.role)
    if lacks and ready and place.state is not State.SUCCEEDED:
        yield CreateService(place.member)


def _started(framework: Framework[Any], job: Job[Any], world: World, *, ready: bool) -> JobStatus:
    """The status of a job that has been taken up: created, and started unless something is in the way."""
    status = conditions.put(
        job.status,
        ConditionType.CREATED,
        labels.reason(framework, "Created"),
        labels.say(labels.IS_CREATED, framework, job),
        world.now,
    )
    changes: dict[str, Any] = {}
    if status.observed_generation != job.generation and not _left_behind(status):
        changes["observed_generation"] = job.generation
    waits = job.policy.suspend or status.is_true(ConditionType.SUSPENDED) or status.finished or job.problems
    if not status.start_time and not waits and ready:
        changes["start_time"] = world.now
    return replace(status, **changes) if changes else status


def _left_behind(status: JobStatus) -> bool:
    """Finished under an older operator, which did not write generations: nothing is to be said about it."""
    return status.finished and not status.observed_generation


def _running_or_restarting(scene: Scene, status: JobStatus) -> JobStatus:
    framework, job, now = scene.framework, scene.job, scene.world.now
    failed = next((p.member.role for p in scene.roster.places if p.state is State.RETRY), None)
    if failed:
        message = labels.say(labels.IS_RESTARTING, framework, job, role=failed)
        return conditions.put(
            status, ConditionType.RESTARTING, labels.reason(framework, "Restarting"), message, now
        )
    if any(status.replica_statuses[role].active for role in framework.deciding(job)):
        message = labels.say(framework.wording.running, framework, job)
        return conditions.put(
            status, ConditionType.RUNNING, labels.reason(framework, "Running"), message, now
        )
    return status


def _starting(scene: Scene, status: JobStatus) -> bool:
    """That the job runs is news, and not all of its members do yet."""
    news = status.is_true(ConditionType.RUNNING) and not scene.job.status.is_true(ConditionType.RUNNING)
    return news and any(place.state is State.WAITING for place in scene.roster.places)


def _end(
    scene: Scene, status: JobStatus, type_: ConditionType, reason: str, message: str, kind: Any = "Normal"
) -> Plan:
    now, reason = scene.world.now, labels.reason(scene.framework, reason)
    status = conditions.put(status, type_, reason, message, now)
    status = replace(status, completion_time=status.completion_time or now)
    after = _finished(replace(scene, job=replace(scene.job, status=status)))
    idle = after is not None and not after.actions and after.status == status
    return Plan(
        status=status,
        events=(Event(kind, reason, message),),
        wake_after=after.wake_after if after and idle else AT_ONCE,
    )


def _observed(scene: Scene) -> JobStatus:
    return counters.observed(scene.framework, scene.job, scene.job.status, scene.roster)


def _tries(scene: Scene) -> Iterator[tuple[Any, bool]]:
    return ((p.pod, p.state is State.RETRY) for p in scene.roster.places if p.pod)


def _news(scene: Scene, reason: str, sentence: str, kind: Any = "Normal", **more: object) -> Event:
    return Event(
        kind, labels.reason(scene.framework, reason), labels.say(sentence, scene.framework, scene.job, **more)
    )


def _restarts(scene: Scene) -> Iterator[Event]:
    """One line for each role that has a pod whose failure has just been counted."""
    status = scene.job.status
    fresh = (p for p in scene.roster.places if p.state is State.RETRY and p.pod)
    for role in dict.fromkeys(p.member.role for p in fresh if p.pod and not restart.counted(status, p.pod)):
        yield _news(scene, "Restarting", labels.IS_RESTARTING, "Warning", role=role)


def _exits(scene: Scene, *states: State, but: Collection[str] = ()) -> Iterator[Event]:
    """One line for each pod that has ended since the last status was stored."""
    for place in scene.roster.places:
        if place.pod is None or place.state not in states or place.member.role in but:
            continue
        code = restart.exit_code(scene.framework.container, place.pod)
        if place.state is State.SUCCEEDED:
            told = place.member.index in roster.succeeded(scene.job, place.member.role)
        else:
            told = place.state is State.RETRY and restart.counted(scene.job.status, place.pod)
        if code is not None and not told:
            message = labels.POD_EXITED.format(namespace=scene.job.namespace, pod=place.pod.name, code=code)
            yield Event("Normal", labels.EXITED, message)


def _warnings(scene: Scene, actions: list[Action]) -> Iterator[Event]:
    """What will not be used as it was written, once for each role of which a pod is made."""
    made = {action.member.role: action.member for action in actions if isinstance(action, CreatePod)}
    for member in (made[role] for role in scene.job.replicas if role in made):
        yield from pods.warnings(scene.framework, scene.job, scene.topology, member, scene.settings)
