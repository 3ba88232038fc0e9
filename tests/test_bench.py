"""The bench: what it makes of its measurements, and that a round of it works on a real control plane."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import budgets, counted, proc
from bench.arena import ARMS, Arm, Round, arena
from bench.budgets import Line
from bench.loads import BURST, IN_TURN, Load, members, tensorflow
from bench.null import creates
from bench.stats import Estimate, estimate, exponent, ratios
from bench.work import Instructions
from tests.cluster.controlplane import Cluster
from tests.scenarios.casting import known_frameworks
from tests.scenarios.operators import in_memory
from tests.scenarios.stage import Cast, Stage
from trainop.kube.cluster import resource
from trainop.kube.port import PODS, SERVICES, Raw
from trainop.model import DEFAULTS


def test_what_slows_both_arms_of_a_pair_down_cancels_out() -> None:
    assert ratios([3.0, 30.0], [2.0, 20.0]) == [1.5, 1.5]


def test_a_pair_needs_both_its_arms() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratios([1.0, 2.0], [1.0])


def test_the_median_lies_in_its_interval_and_one_outlier_does_not_move_it() -> None:
    found = estimate([1.0, 1.1, 1.2, 1.3, 50.0])
    assert found.median == 1.2
    assert 1.0 <= found.low <= found.median <= found.high <= 50.0


def test_more_measurements_make_the_interval_narrower() -> None:
    few, many = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0] * 50
    assert _width(estimate(many)) < _width(estimate(few))


def test_the_same_values_have_the_same_interval() -> None:
    assert estimate([3.0, 1.0, 2.0]) == estimate([3.0, 1.0, 2.0])


def test_a_single_value_is_its_own_interval() -> None:
    assert estimate([7.0]) == Estimate(7.0, 7.0, 7.0)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.15, 2.0])
def test_the_exponent_is_the_power_by_which_a_cost_grows(power: float) -> None:
    points = [(size, 0.003 * size**power) for size in (125.0, 250.0, 500.0, 1000.0)]
    assert math.isclose(exponent(points), power)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Estimate(1.4, 1.2, 1.9), "ok"),
        (Estimate(1.5, 1.5, 1.5), "ok"),
        (Estimate(1.6, 1.4, 1.9), "over?"),
        (Estimate(1.6, 1.51, 1.9), "OVER"),
    ],
)
def test_a_budget_is_clearly_exceeded_only_when_the_whole_interval_is(
    measured: Estimate, verdict: str
) -> None:
    assert Line("time", "load", measured, "x null", 1.5).verdict == verdict


def test_nothing_is_said_of_what_was_not_promised() -> None:
    assert Line("latency", "load", estimate([9.9]), "ms").verdict == ""


def test_the_table_fits_eighty_columns() -> None:
    wide = Estimate(1234.0, 1234.0, 12345.0, 240)
    lines = [Line("CPU/1,000 pods, null", str(IN_TURN), wide, "x null", 120.0)]
    assert max(map(len, budgets.table(lines))) <= 80


def test_the_operators_requests_are_all_but_the_pod_lifes_and_the_submissions() -> None:
    before = counted.Requests({("POST", "pods"): 5, ("PATCH", "pods/status"): 2})
    after = counted.Requests(
        {("POST", "pods"): 8, ("PATCH", "pods/status"): 9, ("POST", "tfjobs"): 1, ("GET", "tfjobs"): 1}
    )
    assert counted.by_the_operator(before, after, submitted=1) == {("POST", "pods"): 3, ("GET", "tfjobs"): 1}


def test_a_load_has_as_many_members_as_it_says() -> None:
    batches = BURST.batches()
    assert sum(len(members(job)) for batch in batches for job in batch) == BURST.pods == 300
    assert len(batches) == 1
    assert [len(batch) for batch in IN_TURN.batches()] == [1] * 20


def test_the_instructions_of_a_process_are_the_sum_of_what_valgrind_has_written(tmp_path: Path) -> None:
    meter = Instructions(tmp_path)
    files = {
        "7.1": "fn=main\ntotals: 100\n",
        "7.2": "totals: 50\n",
        "7.3": "fn=half\n",
        "71.1": "totals: 9\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert sum(meter.dumps(7).values()) == 150
    (tmp_path / "7.3").write_text("fn=whole\ntotals: 1\n")
    assert sum(meter.dumps(7).values()) == 151


def test_work_is_a_multiple_of_the_null_operators() -> None:
    null, ours = (Round(str(IN_TURN), arm, 1.0, cost) for arm, cost in zip(ARMS, (60e6, 120e6), strict=True))
    multiple, each = budgets.of_work(IN_TURN, null, ours)
    assert (multiple.measured.median, multiple.verdict, each.measured.median) == (2.0, "ok", 2.0)


async def test_the_null_operator_sends_the_bodies_that_the_product_sends() -> None:
    framework, (job,) = tensorflow(), Load(1, 10).batches()[0]
    async with in_memory(known_frameworks(), DEFAULTS) as api:
        await api.create(resource(framework), "default", job, dict)
        cast = Cast(framework, {"PS": 2, "Worker": 8}, decider="Worker", server="PS")
        await Stage(api, "default", cast, job["metadata"]["name"]).run_all()
        stored = await api.get(resource(framework), "default", job["metadata"]["name"], dict)
        sent = [(path, msgspec.json.decode(body)) for path, body in creates(framework, stored)]
        for kind in (PODS, SERVICES):
            ours = {one["metadata"]["name"]: _written(one) for one in (await api.list(kind, dict)).items}
            theirs = {
                body["metadata"]["name"]: _written(body)
                for path, body in sent
                if path == kind.path("default")
            }
            assert ours == theirs


async def test_a_round_of_each_arm_ends_well_on_a_real_control_plane(crds: Cluster) -> None:
    load = Load(1, 2)
    async with arena(crds) as where:
        null, ours = [await where.round(load, arm) for arm in ARMS]
        assert proc.peak(where.pids["ours"]) >= proc.resident(where.pids["ours"]) > 10
    assert [one.arm for one in (null, ours)] == list[Arm](["null", "ours"])
    assert all(one.to_all > 0 and one.cost > 0 for one in (null, ours))
    assert (len(null.running), len(null.ended)) == (0, 0)
    assert (len(ours.running), len(ours.ended)) == (1, 1)
    assert budgets.of_pairs(load, [(null, ours)])


def _written(body: Raw) -> Any:
    """What the sender wrote."""
    kept = {key: body["metadata"][key] for key in ("labels", "ownerReferences")}
    return kept, body["spec"]


def _width(found: Estimate) -> float:
    return found.high - found.low
