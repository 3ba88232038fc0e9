"""What Prometheus makes of the pages of two replicas: no alert while all is well, each of them when it should ring."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chart.queries import Series, alerts, ask, dashboard
from tests.production.process import Operator, until
from tests.production.site import QUICK, Site, finish

HOUR, EVERY, NEWS = 3600, 30, 600
"""Seconds: what is known, how often was asked, and how long ago something happened."""
Value = float | Callable[[float], float]
Name = tuple[str, ...]
"""Of a series: its metric and its labels in turn."""
Page = dict[Name, float]
OF_TROUBLE = ("watch_errors", "403", 'code!~"2')
"""Without any, there is no such series."""


NO_CHANGES: Mapping[Name, Value] = {}


class Scrapes(NamedTuple):
    """Of one replica, before and after something happened."""

    before: Page
    after: Page


async def page(operator: Operator) -> Page:
    return {
        (name, *(word for label in sorted(labels.items()) for word in label)): value
        for name, labels, value in await operator.samples()
    }


@pytest.fixture
async def replicas(site: Site) -> AsyncIterator[dict[str, Scrapes]]:
    """One that leads and one that follows; a job came and went."""
    job = site.job("job", Worker=2)
    async with site.pair(*QUICK) as pair:
        before = [await page(one.operator) for one in pair]
        await job.submit()
        await finish(job)

        async def counted() -> bool:
            return await pair[0].operator.sample("training_operator_jobs_successful_total") == 1

        await until("the page tells of it", counted)
        after = [await page(one.operator) for one in pair]
        yield {f"10.0.0.{n}:8080": Scrapes(*it) for n, it in enumerate(zip(before, after, strict=True))}


def history(replicas: Mapping[str, Scrapes], changes: Mapping[Name, Value] = NO_CHANGES) -> Iterator[Series]:
    """As Prometheus has it after an hour; `changes` are the same on every replica's page."""
    for instance, scrapes in replicas.items():
        target = {"namespace": "trainop-system", "job": "trainop", "instance": instance}
        for name in {*scrapes.before, *scrapes.after, *changes}:
            labels = {"__name__": name[0], **dict(zip(name[1::2], name[2::2], strict=True))}
            said = changes.get(name)
            points = []
            for moment in range(0, HOUR + 1, EVERY):
                news = moment > HOUR - NEWS
                value = (scrapes.after if news else scrapes.before).get(name)
                if said is not None:
                    value = said(moment) if callable(said) else said
                if value is not None:
                    points.append((float(moment), value))
            yield Series({**labels, **target}, points)


def steps(moment: float) -> float:
    """Rises every minute."""
    return moment // 60


RINGS: dict[str, dict[Name, Value]] = {
    "TrainopNoLeader": {("trainop_leader",): 0},
    "TrainopTwoLeaders": {("trainop_leader",): 1},
    "TrainopQueueStuck": {("trainop_queue_oldest_seconds",): 61},
    "TrainopCacheStale": {("trainop_cache_age_seconds", "resource", "pods"): 181},
    "TrainopRightsMissing": {
        ("trainop_api_requests_total", "code", "403", "resource", "pods", "verb", "watch"): steps
    },
    "TrainopApiTrouble": {
        ("trainop_api_requests_total", "code", "503", "resource", "pods", "verb", "create"): steps
    },
    "TrainopWatchesBreak": {("trainop_watch_errors_total", "resource", "pods"): steps},
    "TrainopRestarts": {("process_start_time_seconds",): lambda moment: moment // 300},
    "TrainopEventsDropped": {("trainop_events_dropped_total",): steps},
}


async def test_no_alert_rings_while_all_is_well_and_each_when_it_should(
    replicas: dict[str, Scrapes], promql: Path
) -> None:
    wanted = alerts()
    assert set(RINGS) | {"TrainopAbsent"} == set(wanted)

    def ringing(*series: Series) -> set[str]:
        answers = ask(promql, wanted.values(), series, HOUR)
        assert not [answer.error for answer in answers if answer.error]
        return {name for name, answer in zip(wanted, answers, strict=True) if answer.found}

    assert ringing(*history(replicas)) == set()
    assert ringing() == {"TrainopAbsent"}
    for name, changes in RINGS.items():
        assert ringing(*history(replicas, changes)) == {name}


async def test_every_panel_of_the_dashboard_shows_something(
    replicas: dict[str, Scrapes], promql: Path
) -> None:
    queries = {where: it for where, it in dashboard().items() if not any(map(it.__contains__, OF_TROUBLE))}
    answers = ask(promql, queries.values(), history(replicas), HOUR)
    assert [where for where, answer in zip(queries, answers, strict=True) if not answer.found] == []
