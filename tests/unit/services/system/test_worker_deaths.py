"""When it is reported that workers die, and which job is named for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.job import Failure, JobRecord, JobState
from ojs_aws.domain.jobs.deadlines import WORKER_DEATH
from ojs_aws.domain.jobs.failure_groups import WINDOW_MS, FailureGroup
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.system.failure_findings import DEATHS_MS, MIN_DEATHS, worker_deaths
from ojs_aws.services.system.failure_groups import FailureReport, QueuesGroup
from ojs_aws.services.system.queue_findings import Finding
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import Jobs

SINCE = Instant(NOW - 3_600_000)
RECENT = Instant(NOW - 1000)


def death(at: Instant = RECENT, name: str = WORKER_DEATH) -> Failure:
    return Failure(type=name, message="m", attempt=1, occurred_at=at)


def a_group(count: int, *jobs: JobRecord, last: Instant = RECENT) -> QueuesGroup:
    group = FailureGroup(
        type=WORKER_DEATH,
        message="m",
        example="m",
        count=count,
        first_seen=SINCE,
        last_seen=last,
        job_ids=tuple(job.id for job in jobs),
    )
    return QueuesGroup(group=group, queues=("default",), counts=(count,))


def found(
    jobs: Sequence[JobRecord], *groups: QueuesGroup, hides: str = "", **more: Any
) -> list[Finding]:
    table = Jobs()
    table.add(*jobs)
    report = FailureReport(
        since=SINCE, until=NOW, window_ms=WINDOW_MS, groups=groups, ungrouped=0, is_cut=False
    )
    sees = (lambda queue, _: queue != hides) if hides else None
    return worker_deaths(cast("JobStore", table), report, sees, {}, "", **more)


def failed(number: int, *failures: Failure, **more: Any) -> JobRecord:
    return a_job(number, failures=failures, **more)


@pytest.mark.parametrize(
    ("count", "ago_ms", "is_reported"),
    [
        (MIN_DEATHS, DEATHS_MS, True),
        (MIN_DEATHS - 1, DEATHS_MS, False),
        (MIN_DEATHS, DEATHS_MS + 1, False),
    ],
)
def test_some_deaths_of_late_are_reported(count: int, ago_ms: int, is_reported: bool) -> None:
    job = failed(1, death())
    group = a_group(count, job, last=Instant(NOW - ago_ms))
    assert bool(found([job], group)) is is_reported


def test_deaths_whose_jobs_have_all_ended_are_over() -> None:
    """If these jobs met all of them; else another job may still kill workers."""
    ended = failed(1, *[death()] * 3, state=JobState.DISCARDED, discarded_at=NOW)
    assert found([ended], a_group(3, ended)) == []
    assert len(found([ended], a_group(4, ended))) == 1
    assert len(found([replace(ended, state=JobState.AVAILABLE)], a_group(3, ended))) == 1
    assert len(found([], a_group(3))) == 1


def test_the_job_that_met_most_deaths_is_named() -> None:
    """Of those that the caller sees; older deaths and other failures do not count."""
    before = Instant(SINCE - 1)
    few = failed(1, death(SINCE), death(before), death(name="Broken"))
    most = failed(2, death(), death(), queue="other")
    group = a_group(4, few, most)
    (finding,) = found([few, most], group)
    assert (finding.data["job_id"], finding.data["deaths_of_job"]) == (most.id, 2)
    assert "2 of them were attempts of one job" in finding.message
    (finding,) = found([few, most], group, hides="other")
    assert (finding.data["job_id"], finding.data["deaths_of_job"]) == (few.id, 1)
    assert "of one job" not in finding.message


def test_the_last_death_of_all_groups_is_named() -> None:
    job = failed(1, death())
    early = Instant(RECENT - 60_000)
    (finding,) = found([job], a_group(2, job, last=early), a_group(2, job))
    assert finding.data["last_at"] == format_instant(RECENT)
