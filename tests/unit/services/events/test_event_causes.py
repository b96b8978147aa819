"""Which changes of an item make an event, and which do not; and no event before its cause."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.cron.entry import CronDefinition, CronEntry, Occurrence, Outcome
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.jobs.batches import BulkDone
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.queues import Pressure, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.schemas import SchemaName
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowEvent, WorkflowState
from ojs_aws.services.events.commit import Commit, MadeEvent
from ojs_aws.services.events.cron import cron_events
from ojs_aws.services.events.jobs import job_events, workflow_events
from ojs_aws.services.events.operations import (
    bulk_events,
    limit_events,
    pressure_events,
    queue_events,
    schema_events,
    settings_events,
    worker_events,
)
from tests.contract.test_job_store import NOW, a_job, a_reservation

EARLIER = Instant(NOW - 500)
LATER = Instant(NOW + 500)
COMMIT = Commit(NOW)
FAILURE = read_failure(parse_object('{"type": "T", "message": "m"}'), 1, NOW)


def kinds(made: Sequence[MadeEvent]) -> list[str]:
    return [each.kind for each in made]


def data(made: Sequence[MadeEvent], at: int = 0) -> dict[str, Any]:
    return dict(json.loads(made[at].data))


# ------------------------------------------------------------------------------------ jobs
def active(**more: Any) -> JobRecord:
    given = {"reservation": a_reservation(), "started_at": NOW, "attempt": 1, **more}
    return a_job(state=JobState.ACTIVE, **given)


def beaten(held: Reservation | None, **more: Any) -> JobRecord:
    return active(reservation=held, **more)


@pytest.mark.parametrize(
    ("held", "beats"),
    [
        (a_reservation(), 0),
        (replace(a_reservation(), listed_at=NOW), 0),
        (replace(a_reservation(), expires_at=LATER), 1),
        (replace(a_reservation(), alive_until=LATER), 1),
    ],
)
def test_a_heartbeat_is_what_extends_a_reservation(held: Reservation, beats: int) -> None:
    """To move a row extends none; and an ended job's reservation is nobody's."""
    before = active()
    assert kinds(job_events(before, beaten(held), COMMIT)) == ["job.heartbeat"] * beats
    done = replace(before, state=JobState.COMPLETED, completed_at=NOW)
    assert job_events(done, replace(done, reservation=held), COMMIT) == []
    assert kinds(job_events(replace(before, reservation=None), before, COMMIT)) == ["job.heartbeat"]


@pytest.mark.parametrize(
    ("earlier", "made"),
    [
        (None, 1),
        (Progress(attempt=1, updated_at=Instant(NOW - 1), fraction=0.1), 1),
        (Progress(attempt=1, updated_at=NOW, fraction=0.1), 0),
        (Progress(attempt=1, updated_at=NOW), 1),
        (Progress(attempt=1, updated_at=NOW, fraction=0.0), 0),
        (Progress(attempt=0, updated_at=NOW, fraction=0.1), 1),
    ],
)
def test_progress_is_published_once_a_second(earlier: Progress | None, made: int) -> None:
    """Of the clock; a report without a number made no event, and nor did another attempt's."""
    assert NOW % 1000 == 0
    known = Progress(attempt=1, updated_at=Instant(NOW + 999), fraction=0.5)
    before, after = active(progress=earlier), active(progress=known)
    assert kinds(job_events(before, after, COMMIT)) == ["job.progress"] * made


@pytest.mark.parametrize(("attempt", "enqueued_at", "shown"), [(1, EARLIER, 500), (1, LATER, 0)])
def test_a_first_start_says_how_long_the_job_waited(
    attempt: int, enqueued_at: Instant, shown: int
) -> None:
    """Never less than nothing, though clocks differ."""
    after = active(attempt=attempt, enqueued_at=enqueued_at)
    assert data(job_events(a_job(), after, COMMIT))["queue_time_ms"] == shown
    again = job_events(a_job(), replace(after, attempt=2), COMMIT)
    assert "queue_time_ms" not in data(again)


@pytest.mark.parametrize(("started_at", "shown"), [(EARLIER, 500), (LATER, 0)])
def test_a_failure_says_how_long_its_attempt_lasted(started_at: Instant, shown: int) -> None:
    after = a_job(state=JobState.RETRYABLE, attempt=1, failures=(FAILURE,), next_attempt_at=LATER)
    made = job_events(active(started_at=started_at), after, COMMIT)
    assert (made[0].kind, data(made)["duration_ms"]) == ("job.failed", shown)


@pytest.mark.parametrize(("created_at", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_priority_changes_before_its_job_was_created(
    created_at: Instant, expected: Instant
) -> None:
    before = a_job(created_at=created_at)
    (made,) = job_events(before, replace(before, priority=5), COMMIT)
    assert (made.kind, made.time) == ("priority.changed", expected)


LIMIT = Limit(key="api", concurrency=1)


@pytest.mark.parametrize(
    ("before", "expires_at", "limit", "kind"),
    [
        (a_job(), None, LIMIT, "rate_limit.dropped"),
        (a_job(), LATER, LIMIT, "rate_limit.dropped"),
        (a_job(), NOW, LIMIT, "job.expired"),
        (a_job(), EARLIER, LIMIT, "job.expired"),
        (a_job(), EARLIER, None, "job.expired"),
        (a_job(state=JobState.PENDING), None, LIMIT, "job.expired"),
        (active(), None, LIMIT, "job.failed"),
    ],
)
def test_an_available_job_is_discarded_by_its_limit_or_at_its_expiry(
    before: JobRecord, expires_at: Instant | None, limit: Limit | None, kind: str
) -> None:
    after = a_job(
        state=JobState.DISCARDED,
        discarded_at=NOW,
        expires_at=expires_at,
        limit=limit,
        failures=(FAILURE,),
    )
    assert job_events(replace(before, limit=limit), after, COMMIT)[0].kind == kind


# -------------------------------------------------------------------------------- cron jobs
ENTRY = CronEntry(
    definition=CronDefinition(
        name="daily",
        expression="0 0 * * *",
        type="a.b",
        queue="q",
        document=RawJson("{}"),
        envelope=RawJson("{}"),
    ),
    version=1,
    created_at=EARLIER,
    updated_at=EARLIER,
    anchor=EARLIER,
)
RUN = Occurrence(
    number=1, scheduled_at=NOW, claimed_at=NOW, outcome=Outcome.TRIGGERED, job_id=a_job().id
)
OTHER = replace(ENTRY, definition=replace(ENTRY.definition, expression="1 0 * * *"))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, ENTRY, ["cron.registered"]),
        (ENTRY, OTHER, ["cron.updated"]),
        (ENTRY, replace(ENTRY, version=2), []),
        (ENTRY, None, ["cron.deleted"]),
        (None, None, []),
        (ENTRY, replace(ENTRY, latest=RUN), ["cron.triggered"]),
        (ENTRY, replace(ENTRY, latest=replace(RUN, outcome=Outcome.CLAIMED)), []),
        (replace(ENTRY, latest=RUN), replace(ENTRY, latest=RUN, version=2), []),
        (replace(ENTRY, latest=RUN), replace(OTHER, latest=RUN), ["cron.updated"]),
        (
            replace(ENTRY, latest=RUN),
            replace(ENTRY, latest=replace(RUN, number=2, outcome=Outcome.SKIPPED)),
            ["cron.skipped"],
        ),
    ],
)
def test_an_entry_and_each_of_its_runs_are_published_once(
    before: CronEntry | None, after: CronEntry | None, expected: list[str]
) -> None:
    assert kinds(cron_events(before, after, COMMIT)) == expected


@pytest.mark.parametrize(("updated_at", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_entry_is_deleted_before_it_was_changed(updated_at: Instant, expected: Instant) -> None:
    """Other changes say themselves when they were made, and by whom."""
    entry = replace(ENTRY, updated_at=updated_at, changed_by="1 key:1 alice")
    (made,) = cron_events(entry, None, COMMIT)
    assert (made.time, "by" in data([made])) == (expected, False)
    (made,) = cron_events(None, entry, COMMIT)
    assert made.time == updated_at


# ------------------------------------------------------------------------------------ limits
FULL = Bucket(key="api", exhausted=f'{{"strategy":"rate","at":{NOW - 500}}}')
FREE = Bucket(key="api", released="job")
BLOCKED = replace(FULL, blocked_until=LATER)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, FREE, []),
        (None, FULL, ["rate_limit.exceeded"]),
        (FREE, FULL, ["rate_limit.exceeded"]),
        (FULL, replace(FULL, version=2), []),
        (FULL, FREE, ["rate_limit.released"]),
        (FREE, FREE, []),
        (FREE, BLOCKED, ["rate_limit.dynamic_adjusted"]),
        (BLOCKED, replace(BLOCKED, version=2), []),
        (BLOCKED, replace(BLOCKED, blocked_until=NOW), ["rate_limit.dynamic_adjusted"]),
        (BLOCKED, replace(FREE, blocked_until=LATER), ["rate_limit.released"]),
        (FULL, None, []),
    ],
)
def test_a_limit_is_published_once_for_the_time_in_which_jobs_wait(
    before: Bucket | None, after: Bucket | None, expected: list[str]
) -> None:
    assert kinds(limit_events(before, after, COMMIT)) == expected


@pytest.mark.parametrize(("said_at", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_limit_is_released_before_it_was_exceeded(said_at: Instant, expected: Instant) -> None:
    before = replace(FULL, exhausted=f'{{"at":{said_at}}}')
    assert limit_events(before, FREE, COMMIT)[0].time == expected


# ------------------------------------------------------------------------------------ queues
def paused(at: Instant | None) -> QueueInfo:
    return QueueInfo(name="q", paused_at=at)


@pytest.mark.parametrize(("paused_at", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_queue_is_resumed_before_it_was_paused(paused_at: Instant, expected: Instant) -> None:
    (made,) = queue_events(paused(paused_at), paused(None), COMMIT)
    assert (made.kind, made.time) == ("queue.resumed", expected)
    assert queue_events(paused(paused_at), paused(NOW), COMMIT) == []


def settings(revision: int, state: QueueState = QueueState.ACTIVE, **more: Any) -> QueueSettings:
    return QueueSettings(**{"queue": "q", "revision": revision, "state": state, **more})


GONE = QueueState.DELETED
MADE: dict[str, Any] = {"created_at": NOW}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, settings(1), ["queue.config_updated"]),
        (None, settings(1, **MADE), ["queue.created"]),
        (None, settings(1, queue=DEFAULT_POLICY, **MADE), ["queue.config_updated"]),
        (settings(1, **MADE), settings(2, **MADE), ["queue.config_updated"]),
        (settings(1), settings(1), []),
        (settings(1), settings(2, GONE), ["queue.deleted"]),
        (settings(1, GONE), settings(2, GONE), []),
        (None, settings(2, GONE), []),
        (settings(1, GONE), settings(2, **MADE), ["queue.created"]),
        (settings(1), None, []),
    ],
)
def test_settings_are_published_by_their_revisions(
    before: QueueSettings | None, after: QueueSettings | None, expected: list[str]
) -> None:
    """A deleted queue that begins again is a new one."""
    assert kinds(settings_events(before, after, COMMIT)) == expected


def pressure(depth: int, bound: int = 10, *, is_warned: bool = False) -> Pressure:
    return Pressure(queue="q", at=NOW, depth=depth, bound=bound, is_warned=is_warned)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, pressure(9), []),
        (None, pressure(10), ["queue.full"]),
        (pressure(9), pressure(10), ["queue.full"]),
        (pressure(10), pressure(10), []),
        (pressure(0, 0), pressure(0, 0), []),
        (None, pressure(0, 0), []),
        (pressure(0, 0), pressure(10), ["queue.full"]),
        (None, pressure(9, is_warned=True), ["backpressure.warning"]),
        (pressure(9), pressure(9, is_warned=True), ["backpressure.warning"]),
        (pressure(9, is_warned=True), pressure(9, is_warned=True), []),
        (pressure(9, is_warned=True), pressure(1), ["backpressure.cleared"]),
        (pressure(1), pressure(2), []),
    ],
)
def test_it_is_published_when_a_queue_gets_full_and_when_it_has_room(
    before: Pressure | None, after: Pressure, expected: list[str]
) -> None:
    """Once each; a queue without a bound is never full."""
    assert kinds(pressure_events(before, after, COMMIT)) == expected


# -------------------------------------------------------------------------------- the others
def worker(last_seen: Instant = EARLIER, **more: Any) -> WorkerInfo:
    return WorkerInfo(**{"id": "w", "last_seen": last_seen, **more})


@pytest.mark.parametrize(("last_seen", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_worker_stops_or_is_directed_before_its_last_heartbeat(
    last_seen: Instant, expected: Instant
) -> None:
    before = worker(last_seen)
    (stopped,) = worker_events(before, None, COMMIT)
    (directed,) = worker_events(before, replace(before, directive="quiet"), COMMIT)
    assert (stopped.kind, stopped.time) == ("worker.stopped", expected)
    assert (directed.kind, directed.time) == ("worker.directed", expected)
    assert worker_events(before, replace(before, directed_by="x"), COMMIT) == []


@pytest.mark.parametrize(("created_at", "expected"), [(EARLIER, NOW), (LATER, LATER)])
def test_no_schema_is_deleted_before_it_was_registered(
    created_at: Instant, expected: Instant
) -> None:
    name = SchemaName(type="a.b", version=1, uri="urn:a", created_at=created_at)
    (registered,) = schema_events(None, name, COMMIT)
    (deleted,) = schema_events(name, None, COMMIT)
    assert (registered.kind, registered.time) == ("schema.registered", created_at)
    assert (deleted.kind, deleted.time) == ("schema.deleted", expected)
    assert schema_events(name, replace(name, by="x"), COMMIT) == []
    assert schema_events(None, None, COMMIT) == []


def test_a_bulk_operation_is_published_once() -> None:
    done = BulkDone(id="b", operation="cancel", total=3, done=2, is_atomic=False, at=NOW)
    assert kinds(bulk_events(None, done, COMMIT)) == ["bulk.cancel.completed"]
    assert bulk_events(done, done, COMMIT) == []
    assert bulk_events(done, None, COMMIT) == []


@pytest.mark.parametrize(("before", "count"), [(None, 1), (0, 1), (1, 0), (2, 0)])
def test_the_events_of_a_workflow_are_those_of_a_newer_version(
    before: int | None, count: int
) -> None:
    after = Workflow(
        id="w",
        kind="chain",  # type: ignore[arg-type]
        version=1,
        state=WorkflowState.RUNNING,
        states="a",
        created_at=NOW,
        job_count=1,
        steps_total=1,
        events=(WorkflowEvent(kind="workflow.started", at=NOW, data={}),),
    )
    earlier = None if before is None else replace(after, version=before)
    assert len(workflow_events(earlier, after, COMMIT)) == count
    assert workflow_events(after, None, COMMIT) == []
