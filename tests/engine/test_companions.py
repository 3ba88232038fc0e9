"""What stands beside a job: made with it, replaced when it ends, gone while the job is suspended. DECISIONS:
TensorBoard, extensions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.builders import NAME, TF, Life, a_job, doing
from trainop.engine import companions
from trainop.model import Settings

BOARD = f"{NAME}-tensorboard"
WANTED = {"tensorboard": {"logDir": "/logs"}}


def a_life(settings: Settings | None = None, **words: Any) -> Life:
    return Life(
        TF, a_job(TF, **{"Chief": 1, "PS": 1, "spec": WANTED} | words), settings=settings or Settings()
    )


def made(life: Life) -> list[str]:
    return [action for action in doing(life.step()) if BOARD in action]


def test_it_is_made_after_the_members() -> None:
    assert doing(a_life().step())[-2:] == [f"+pod {BOARD}", f"+service {BOARD}"]


def test_a_job_that_asks_for_none_has_none() -> None:
    assert made(a_life(spec={})) == []


def test_it_is_no_part_of_the_training() -> None:
    life = a_life()
    life.settle()
    life.all_run().settle()
    assert life.job.status.progress == "2/2"
    assert set(life.job.status.replica_statuses) == {"Chief", "PS"}


def test_it_outlives_the_job_and_is_replaced_even_then() -> None:
    life = a_life(policy={"cleanPodPolicy": "All"})
    life.settle()
    life.all_run().see("Chief", 0, "Succeeded", 0).settle()
    assert life.job.status.is_true("Succeeded")
    assert life.pods == [BOARD]
    life.world = replace(life.world, pods=())
    assert made(life) == [f"+pod {BOARD}"]


def test_one_that_ends_is_replaced_and_neither_counted_nor_told_as_a_restart() -> None:
    life = a_life(policy={"backoffLimit": 1})
    life.settle()
    life.all_run().settle()
    life.world = _ended(life)
    assert made(life) == [f"-pod {BOARD}"]
    assert made(life) == [f"+pod {BOARD}"]
    assert life.job.status.restart_count == 0
    assert life.states == ["Created", "Running"]


def test_a_suspended_job_has_none() -> None:
    life = a_life()
    life.settle()
    assert made(life.edit(Chief=1, PS=1, spec=WANTED, policy={"suspend": True})) == [
        f"-pod {BOARD}",
        f"-service {BOARD}",
    ]
    life.settle()
    life.edit(Chief=1, PS=1, spec=WANTED).settle()
    assert BOARD in life.pods


def test_one_that_is_not_wanted_any_more_goes() -> None:
    life = a_life()
    life.settle()
    assert made(life.edit(Chief=1, PS=1)) == [f"-pod {BOARD}", f"-service {BOARD}"]


def test_it_does_not_wait_for_a_gang() -> None:
    assert made(a_life(Settings(gang_scheduler="volcano"))) == [f"+pod {BOARD}", f"+service {BOARD}"]


def test_its_pod_and_service() -> None:
    job = a_job(TF, Chief=1, PS=1, spec=WANTED)
    (companion,) = TF.companions
    pod, service = companions.pod(TF, job, companion), companions.service(TF, job, companion)
    assert pod["metadata"]["labels"] == service["spec"]["selector"]
    assert pod["metadata"]["ownerReferences"] == service["metadata"]["ownerReferences"]
    assert pod["spec"]["restartPolicy"] == "Always"
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["tensorboard", "--logdir", "/logs", "--host", "0.0.0.0"]  # noqa: S104 - as 2017
    assert service["spec"]["type"] == "ClusterIP"
    assert service["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": 6006}]


def _ended(life: Life) -> Any:
    pods = tuple(replace(p, phase="Failed") if p.name == BOARD else p for p in life.world.pods)
    return replace(life.world, pods=pods)
