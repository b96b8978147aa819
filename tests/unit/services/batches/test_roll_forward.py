"""Batches that are put into their places: how far in which time, and which messages are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.domain.conflicts import LogLostError
from ojs_aws.domain.errors import InvalidRequestError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.batches import (
    BatchFaults,
    OpenBatch,
    RollForwardReport,
    StagedJob,
    StoredJob,
    check_count,
)
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.batches.roll_forward import (
    BUDGET_MS,
    GIVE_UP_MS,
    QUIET_MS,
    RollForward,
)
from ojs_aws.topology import MAX_DELAY_S
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import Jobs, some_jobs

REACH_MS = MAX_DELAY_S * 1000


@dataclass
class Batches(Jobs):
    """A log of some parts, and what is done with it."""

    parts: list[list[JobRecord]] = field(default_factory=list)
    committed_at: Instant = NOW
    is_lost: bool = False
    calls: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    insert_ms: int = 0

    @property
    def batch(self) -> OpenBatch:
        sizes = tuple(map(len, self.parts))
        return OpenBatch(id="b", token="t", committed_at=self.committed_at, sizes=sizes, marks=b"")

    def open(self) -> list[OpenBatch]:
        return [self.batch]

    def done(self, _batch: OpenBatch) -> int:
        return 0

    def part(self, _batch: OpenBatch, number: int) -> list[StagedJob]:
        self.calls.append(f"part {number}")
        if self.is_lost:
            raise LogLostError("gone")
        return [StagedJob(record=job) for job in self.parts[number]]

    def advance(self, _batch: OpenBatch, number: int) -> None:
        self.calls.append(f"advance {number}")

    def close(self, _batch: OpenBatch) -> None:
        self.calls.append("close")

    def abandon(self, _batch: OpenBatch, _now: Instant) -> None:
        self.calls.append("abandon")

    def insert(self, job: JobRecord) -> None:
        self.clock.advance(ms=self.insert_ms)
        self.add(job)

    def send_for(self, jobs: Sequence[JobRecord], _now: Instant) -> None:
        self.sent += [job.id for job in jobs]

    def send_late(self, job: JobRecord, _now: Instant) -> bool:
        self.late.append(job.id)
        return True


def rolling(log: Batches) -> RollForward:
    given = cast("Any", log)
    return RollForward(given, given, given, log.clock, given, lambda _: None, given)


def two_parts(**more: Any) -> Batches:
    return Batches(parts=[some_jobs(2), some_jobs(2, first=10)], **more)


def staged(log: Batches) -> list[StagedJob]:
    return [StagedJob(record=job) for part in log.parts for job in part]


@pytest.mark.parametrize(
    ("insert_ms", "placed", "calls"),
    [
        (0, 4, ["advance 1", "close"]),
        (BUDGET_MS // 2 - 1, 4, ["advance 1", "close"]),
        (BUDGET_MS // 2, 2, []),
    ],
)
def test_a_request_places_the_parts_that_it_has_time_for(
    insert_ms: int, placed: int, calls: list[str]
) -> None:
    """Others do the rest; behind the last part there is nothing to note."""
    log = two_parts(insert_ms=insert_ms)
    assert len(rolling(log).begin(log.batch, staged(log))) == placed
    assert log.calls == calls


@pytest.mark.parametrize(
    ("ago_ms", "is_over", "done", "calls"),
    [
        (QUIET_MS - 1, False, 0, []),
        (QUIET_MS, False, 1, ["part 0", "advance 1", "part 1", "advance 2", "close"]),
        (QUIET_MS, True, 0, []),
    ],
)
def test_the_sweep_goes_on_with_batches_whose_processes_are_quiet(
    ago_ms: int, is_over: bool, done: int, calls: list[str]
) -> None:
    log = two_parts(committed_at=Instant(NOW - ago_ms))
    assert rolling(log).tick(lambda: is_over).done == done
    assert log.calls == calls


def test_a_sweep_without_time_stops_before_the_next_part() -> None:
    log = two_parts(committed_at=Instant(NOW - QUIET_MS))
    times = iter([False, False, True])
    assert rolling(log).tick(lambda: next(times)).done == 0
    assert log.calls == ["part 0", "advance 1"]


@pytest.mark.parametrize(("ago_ms", "lost", "failed"), [(GIVE_UP_MS - 1, 0, 1), (GIVE_UP_MS, 1, 0)])
def test_a_batch_whose_log_is_gone_is_given_up_after_an_hour(
    ago_ms: int, lost: int, failed: int
) -> None:
    log = two_parts(committed_at=Instant(NOW - ago_ms), is_lost=True)
    assert rolling(log).tick(lambda: False) == RollForwardReport(0, failed, lost, frozenset())
    assert ("abandon" in log.calls) is bool(lost)


def test_a_batch_is_not_given_up_without_time() -> None:
    log = two_parts(committed_at=Instant(NOW - GIVE_UP_MS), is_lost=True)
    times = iter([False, False, True])
    assert rolling(log).tick(lambda: next(times)).lost == 0
    assert "abandon" not in log.calls


def scheduled(created: Instant, due: Instant, **more: Any) -> JobRecord:
    return a_job(
        state=JobState.SCHEDULED, created_at=created, enqueued_at=None, scheduled_at=due, **more
    )


EARLY = Instant(NOW - 60_000)


@pytest.mark.parametrize(
    ("job", "is_late"),
    [
        (a_job(created_at=EARLY), False),
        (scheduled(EARLY, Instant(EARLY + REACH_MS)), False),
        (scheduled(EARLY, Instant(EARLY + REACH_MS + 1)), True),
        (scheduled(EARLY, Instant(NOW + REACH_MS)), True),
        (scheduled(EARLY, Instant(NOW + REACH_MS + 1)), False),
        (
            a_job(
                state=JobState.RETRYABLE,
                created_at=EARLY,
                enqueued_at=EARLY,
                next_attempt_at=Instant(NOW + REACH_MS),
            ),
            False,
        ),
    ],
)
def test_jobs_that_came_within_reach_meanwhile_get_their_message_now(
    job: JobRecord, is_late: bool
) -> None:
    """The sweep may have passed them while they were not in their places."""
    log = Batches(parts=[[job]])
    rolling(log).begin(log.batch, staged(log))
    assert (log.late, log.sent) == (([job.id], []) if is_late else ([], [job.id]))


def test_a_job_that_was_only_changed_has_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that was dropped for another one has none."""
    first, second, third = some_jobs(3)
    outcomes = {
        first.id: StoredJob(record=first),
        second.id: StoredJob(record=second, is_update=True),
        third.id: StoredJob(record=None),
    }
    monkeypatch.setattr(
        RollForward, "_placed", lambda _, staged_job, __: outcomes[staged_job.record.id]
    )
    log = Batches(parts=[[first, second, third]])
    assert len(rolling(log).begin(log.batch, staged(log))) == 3
    assert log.sent == [first.id]


def test_a_batch_has_from_one_job_on() -> None:
    check_count(1, 1)
    with pytest.raises(PayloadTooLargeError):
        check_count(2, 1)
    with pytest.raises(InvalidRequestError):
        check_count(0, 1)


@pytest.mark.parametrize(("count", "is_listed"), [(1, False), (2, True)])
def test_the_faults_of_a_batch_are_listed_where_there_are_several(
    count: int, is_listed: bool
) -> None:
    faults = BatchFaults()
    for index in range(count):
        with faults.at(index):
            raise InvalidRequestError("no")
    with pytest.raises(InvalidRequestError) as error:
        faults.raise_all()
    assert ("errors" in error.value.details) is is_listed
    assert error.value.details["index"] == 0
