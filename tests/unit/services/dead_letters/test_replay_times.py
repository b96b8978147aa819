"""What a rule looks at in a round, and how far it remembers to have looked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Between, JobList, Page
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.dead_letters.upkeep import FAILED_AGAIN_MS, DeadLetterUpkeep, ReplayRule
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.upkeep.sweep_queue import INDEX_LAG_MS
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import row_of

DELAY_MS = 600_000
"""Longer than the index may lag."""


def dead(number: int = 1, ago_ms: int = DELAY_MS, **more: object) -> JobRecord:
    """A job that was discarded some time ago."""
    at = Instant(NOW - ago_ms)
    usual = {"state": JobState.DISCARDED, "discarded_at": at, "is_dead_letter": True}
    return a_job(number, **{**usual, **more})


@dataclass
class Queue:
    """The dead letters of a queue, and the mark of the one rule."""

    jobs: list[JobRecord] = field(default_factory=list)
    mark: int | None = None
    delay_ms: int = DELAY_MS
    wanted: DeadLetterFilter = field(default_factory=DeadLetterFilter)
    moves: list[int] = field(default_factory=list)
    listings: list[Between] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    overdue: int | None = None

    def replayed(self) -> int:
        """Do a round; how many were replayed."""
        this = cast("Any", self)
        rule = ReplayRule(name="r", wanted=self.wanted, delay_ms=self.delay_ms, max_replays=1)
        upkeep = DeadLetterUpkeep(
            queues=this,
            watermarks=lambda: this,
            changer=JobChanger(this, FakeClock(NOW)),
            job_messages=this,
            max_count=9,
            rules=(rule,),
        )
        report = upkeep.tick()
        assert report.failed == 0
        return report.replayed

    # what the tables do
    def all(self) -> list[Any]:
        return [SimpleNamespace(name="default")]

    def count(self, *_: object) -> Any:
        return SimpleNamespace(rows=0)

    def read(self, _name: str) -> Instant | None:
        return None if self.mark is None else Instant(self.mark)

    def move(self, _name: str, until: Instant) -> None:
        self.moves.append(until)

    def listed(self, _queue: str, _name: JobList, _limit: int, **how: Any) -> Page:
        between = cast("Between", how["between"])
        self.listings.append(between)
        rows = [replace(row_of(job), sort_key=str(job.discarded_at)) for job in self.jobs]
        found = [row for row in rows if between.since <= int(row.sort_key) <= between.until]
        return Page(tuple(found))

    def due(self, _queue: str, since: Instant, until: Instant, _limit: int) -> Page:
        is_in = self.overdue is not None and since <= self.overdue <= until
        row = replace(row_of(a_job(9)), sort_key=str(self.overdue))
        return Page((row,) if is_in else ())

    def load(self, job_id: str) -> JobRecord | None:
        self.reads.append(job_id)
        return next((job for job in self.jobs if job.id == job_id), None)

    def save(self, _before: JobRecord, after: JobRecord) -> JobRecord:
        return after

    def send_for(self, _jobs: Sequence[JobRecord], _now: Instant) -> None:
        pass


@pytest.mark.parametrize(
    ("mark", "replayed", "listings"),
    [
        (None, 1, 1),
        (NOW - DELAY_MS - 1, 1, 1),
        (NOW - DELAY_MS, 1, 1),
        (NOW - DELAY_MS + 1, 0, 0),
    ],
)
def test_a_rule_looks_from_where_it_came_to_up_to_its_delay_ago(
    mark: int | None, replayed: int, listings: int
) -> None:
    """Both instants included; before its delay is over nothing is read."""
    queue = Queue([dead()], mark)
    assert queue.replayed() == replayed
    assert len(queue.listings) == listings


@pytest.mark.parametrize(
    ("delay_ms", "mark", "moves"),
    [
        (DELAY_MS, NOW - DELAY_MS - 1, [NOW - DELAY_MS]),
        (DELAY_MS, NOW - DELAY_MS, []),
        (0, NOW - INDEX_LAG_MS - 1, [NOW - INDEX_LAG_MS]),
        (0, NOW - INDEX_LAG_MS, []),
        (0, NOW - INDEX_LAG_MS + 1, []),
    ],
)
def test_a_mark_is_written_only_where_it_moves(delay_ms: int, mark: int, moves: list[int]) -> None:
    """Never beyond what the index may not show yet."""
    queue = Queue([], mark, delay_ms)
    queue.replayed()
    assert queue.moves == moves


HOUR_AGO = NOW - FAILED_AGAIN_MS
REACHED = NOW - DELAY_MS


@pytest.mark.parametrize(
    ("overdue", "reached"),
    [
        (HOUR_AGO - 1, REACHED),
        (HOUR_AGO, HOUR_AGO - 1),
        (REACHED, REACHED - 1),
        (REACHED + 1, REACHED),
    ],
)
def test_a_mark_stays_before_jobs_that_are_overdue(overdue: int, reached: int) -> None:
    """Each may become a dead letter of when it was due; one of an hour ago is not waited for."""
    queue = Queue([], HOUR_AGO - 9, overdue=overdue)
    queue.replayed()
    assert queue.moves == [reached]


def test_jobs_of_other_types_are_not_read() -> None:
    """Their rows say what they are."""
    mine, other = dead(1, type="a.b"), dead(2, type="c.d")
    queue = Queue([mine, other], wanted=DeadLetterFilter(type="a.b"))
    assert queue.replayed() == 1
    assert set(queue.reads) == {mine.id}
