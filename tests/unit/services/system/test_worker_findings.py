"""When jobs wait although there are workers, and for how long a job runs too long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.workers import WorkerRegistry
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Page
from ojs_aws.domain.queues.tallies import Tally
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.queues.stats import COUNTED, QueueCounts
from ojs_aws.services.system.queue_findings import Finding, FindingCode
from ojs_aws.services.system.worker_findings import LONG_MS, LONG_TIMES, worker_findings
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import Jobs

SERVES = '{"queues":["default"],"concurrency":1}'
UNKNOWN = '{"queues":["default"]}'


class Table(Jobs):
    """Jobs by their ids; no list has any of them."""

    def listed(self, *_: Any, **__: Any) -> Page:
        return Page(())


def a_worker(name: str, *jobs: JobRecord, about: str = SERVES, **more: Any) -> WorkerInfo:
    ids = tuple(job.id for job in jobs)
    return WorkerInfo(**{"id": name, "last_seen": NOW, "about": about, "job_ids": ids, **more})


def running(number: int, ms: int, **more: Any) -> JobRecord:
    given = {"state": JobState.ACTIVE, "started_at": Instant(NOW - ms), **more}
    return a_job(number, **given)


def found(
    workers: list[WorkerInfo],
    jobs: list[JobRecord],
    *,
    available: int = 1,
    paused: bool = False,
    usual_ms: int = 1000,
) -> list[Finding]:
    table = Table()
    table.add(*jobs)
    did = Tally()
    for _ in range(100):
        did.runs.add(usual_ms)
    counts = QueueCounts(counts={**dict.fromkeys(COUNTED, 0), "available": available})
    totals = SimpleNamespace(
        computed_at=NOW,
        by_queue={"default": (counts, did)},
        paused={"default": NOW} if paused else {},
        times={"default": did},
    )
    registry = cast("WorkerRegistry", SimpleNamespace(page=lambda *_: workers))
    return worker_findings(registry, cast("JobStore", table), cast("Any", totals), {})


@pytest.mark.parametrize(
    ("available", "paused", "is_found"), [(1, False, True), (0, False, False), (1, True, False)]
)
def test_quiet_workers_are_found_where_jobs_wait_for_them(
    available: int, paused: bool, is_found: bool
) -> None:
    quiet = [a_worker("w1", state="quiet")]
    assert bool(found(quiet, [], available=available, paused=paused)) is is_found


DEAD = Instant(NOW - 900_000)


def test_a_silent_worker_names_the_queue_that_it_leaves_alone() -> None:
    """And how many jobs wait there; nothing of it while another worker serves the queue."""
    silent = a_worker("w1", last_seen=DEAD)
    alone, helped = found([silent], [], available=3), found([silent, a_worker("w2")], [])
    assert alone[0].message == (
        "Worker 'w1' sent its last heartbeat 15 min ago, and nobody else serves 'default', where "
        "3 jobs wait."
    )
    assert alone[0].data["queues"] == ["default"]
    assert helped[0].message == "Worker 'w1' sent its last heartbeat 15 min ago."
    assert helped[0].data["queues"] == []


def test_silent_workers_are_counted() -> None:
    """With when the last one was seen."""
    silent = [a_worker("w1", last_seen=DEAD), a_worker("w2", last_seen=Instant(DEAD + 60_000))]
    assert found(silent, [], available=0)[0].message == (
        "2 workers have stopped sending heartbeats, the last one 14 min ago."
    )


def test_the_workers_that_take_no_jobs_are_counted() -> None:
    one, two = a_worker("w1", state="quiet"), a_worker("w2", state="quiet")
    assert "and no worker takes new jobs" in found([one], [])[0].message
    assert "none of its 2 workers takes new jobs" in found([one, two], [])[0].message


@pytest.mark.parametrize(
    ("ms", "usual_ms", "is_long"),
    [(LONG_MS, 1000, False), (LONG_MS + 1, 1000, True), (LONG_MS + 1, LONG_MS, False)],
)
def test_a_job_runs_long_that_takes_much_longer_than_most(
    ms: int, usual_ms: int, is_long: bool
) -> None:
    """Longer than a minute, too."""
    assert LONG_TIMES * 1000 < LONG_MS
    job = running(1, ms)
    assert bool(found([a_worker("w", job)], [job], usual_ms=usual_ms)) is is_long


@pytest.mark.parametrize(
    ("job", "about"),
    [
        (running(1, 10 * LONG_MS, state=JobState.RETRYABLE), SERVES),
        (running(1, 10 * LONG_MS), UNKNOWN),
    ],
)
def test_active_jobs_hold_slots_of_workers_that_report_their_number(
    job: JobRecord, about: str
) -> None:
    assert found([a_worker("w", job, about=about)], [job]) == []


def test_a_quiet_worker_has_no_places() -> None:
    """And says nothing of the others; the jobs that hold all places are named together."""
    first, second = running(1, 10 * LONG_MS), running(2, 20 * LONG_MS)
    (finding,) = found([a_worker("w", first), a_worker("q", state="quiet")], [first])
    assert finding.code is FindingCode.JOBS_RUN_LONG
    assert " and " not in finding.message.partition("'demo.echo' for")[2].partition(",")[0]
    (both,) = found([a_worker("w", first), a_worker("v", second)], [first, second])
    assert both.data["job_ids"] == [second.id, first.id]
    assert "and 1 more" in both.message
