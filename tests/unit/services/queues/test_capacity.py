"""Places of bounded queues: which are given back, and when it is published how full a queue is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures
from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues import Pressure, QueueSettings
from ojs_aws.services.jobs.render import PushResult, settled
from ojs_aws.services.queues.backpressure import Backpressure
from ojs_aws.services.queues.push_settings import PushSettingsCache
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import some_jobs
from tests.unit.services.queues.test_bounds_in_time import Book

BOUND = 10


@dataclass
class Counter:
    """Counts the jobs of one bounded queue."""

    depth: int = 0
    changes: list[int] = field(default_factory=list)
    warnings: list[Pressure] = field(default_factory=list)

    def take(self, _queue: str, count: int, _bound: int) -> int:
        self.depth += count
        return self.depth

    def add(self, _queue: str, amount: int) -> int:
        self.changes.append(amount)
        self.depth += amount
        return self.depth

    def warn(self, pressure: Pressure) -> None:
        self.warnings.append(pressure)


def backpressure_of(counter: Counter, **settings: Any) -> Backpressure:
    """Capacity for ten jobs in the queue of the jobs, and a warning from eight on."""
    members = {"max_size": BOUND, "warning_threshold": 0.8, **settings}
    book = Book(QueueSettings(queue="default", revision=1, members=members))
    clock = FakeClock(NOW)
    terms = PushSettingsCache(clock, 0, lambda: cast("QueueSettingsStore", book))
    return Backpressure(
        lambda: cast("Depths", counter), lambda: cast("Pressures", counter), terms, clock
    )


def pushing(counter: Counter, count: int, **results: Any) -> list[PushResult]:
    """Push jobs, all of which turn out so."""
    records = some_jobs(count)
    with backpressure_of(counter).capacity(records) as capacity:
        assert all(record.is_counted for record in capacity.records)
        return settled(capacity, [PushResult(record, **results) for record in capacity.records])


@pytest.mark.parametrize(
    ("results", "changes"),
    [
        ({}, []),
        ({"is_new": False}, [-2]),
        ({"is_duplicate": True}, [-2]),
        ({"is_update": True}, [-2]),
    ],
)
def test_a_job_that_is_not_a_new_one_gives_its_place_back(
    results: dict[str, Any], changes: list[int]
) -> None:
    counter = Counter()
    found = pushing(counter, 2, **results)
    assert counter.changes == changes
    assert [each.fill.depth for each in found if each.fill] == [2, 2]


def test_jobs_of_a_queue_without_a_bound_take_no_place() -> None:
    counter = Counter()
    records = some_jobs(2, queue="other")
    with backpressure_of(counter).capacity(records) as capacity:
        found = settled(capacity, [PushResult(record) for record in capacity.records])
    assert capacity.records == records
    assert [each.fill for each in found] == [None, None]
    assert (counter.depth, counter.changes) == (0, [])


@pytest.mark.parametrize(
    ("before", "count", "warned"),
    [(6, 1, None), (7, 1, 8), (6, 2, 8), (8, 1, None), (9, 1, 10), (7, 3, 10)],
)
def test_a_warning_is_published_at_the_threshold_and_at_the_bound(
    before: int, count: int, warned: int | None
) -> None:
    counter = Counter(before)
    (fill, *_) = [each.fill for each in pushing(counter, count)]
    assert fill is not None
    assert fill.is_high is (before + count >= 8)
    expected = [(warned, True)] if warned else []
    assert [(each.depth, each.is_warned) for each in counter.warnings] == expected


def ended(job: JobRecord) -> tuple[JobRecord, JobRecord]:
    done = a_job(state=JobState.COMPLETED, completed_at=NOW, is_counted=job.is_counted)
    return job, done


@pytest.mark.parametrize(
    ("before", "warned"), [(10, None), (9, None), (8, 7), (7, None), (0, None)]
)
def test_it_is_published_when_a_queue_falls_below_its_threshold(
    before: int, warned: int | None
) -> None:
    counter = Counter(before)
    backpressure_of(counter).follow([ended(a_job())])
    assert counter.changes == [-1]
    expected = [(warned, False)] if warned is not None else []
    assert [(each.depth, each.is_warned) for each in counter.warnings] == expected


def test_a_depth_below_zero_is_published_as_none() -> None:
    """The counter was wrong; the next recount corrects it."""
    counter = Counter(0)
    backpressure_of(counter, max_size=1, warning_threshold=0.0001).follow([ended(a_job())])
    counter.depth = 1
    counter.warnings.clear()
    backpressure_of(counter, max_size=1).follow([ended(a_job(1)), ended(a_job(2))])
    assert [each.depth for each in counter.warnings] == [0]


def test_changes_that_leave_a_queue_as_it_was_are_not_counted() -> None:
    """A job that began, one that ended before, and one that PUSH counted."""
    counter = Counter(5)
    done = ended(a_job())[1]
    backpressure_of(counter).follow(
        [
            (a_job(), a_job(state=JobState.PENDING)),
            (done, None),
            (done, done),
            (None, a_job(is_counted=True)),
        ]
    )
    assert counter.changes == []
    backpressure_of(counter).follow([(None, a_job())])
    assert counter.changes == [1]
