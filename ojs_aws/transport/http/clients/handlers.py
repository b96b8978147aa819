"""Handles operations that the official command line and admin UI call by their own paths.

Each is another operation under another name: what it does is decided there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NotRequired, Required, TypeVar, cast

from typing_extensions import TypedDict

from ojs_aws.domain.cron.entry import CronEntry, Outcome
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.events import Event, EventQuery
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.timestamps import Instant, format_duration, format_instant
from ojs_aws.services.bulk import BulkAction, BulkReport
from ojs_aws.services.bulk.purge import Purge, PurgeReport
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.workers.service import directive_of
from ojs_aws.transport.http.answers import JobId, Timestamp
from ojs_aws.transport.http.authorization import found_cron
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.jobs.bulk_handlers import publish_change
from ojs_aws.transport.http.queries import instant_or_age, number_of, text_of
from ojs_aws.transport.http.queues.handlers import record_purge
from ojs_aws.transport.http.queues.serializers import purge_answer
from ojs_aws.transport.http.workers.handlers import direct_chosen

if TYPE_CHECKING:
    from ojs_aws.transport.http.queues.models import PurgeAnswer
    from ojs_aws.transport.http.workers.models import DirectedAnswer

MAX_ROUNDS: Final = 10
"""Pages of a hundred jobs that one request purges."""

MAX_EVENT_PAGES: Final = 5
EVENTS_OF_A_PAGE: Final = 1000
WEEK_MS: Final = 604_800_000

Members = dict[str, JsonValue]
Report = TypeVar("Report", PurgeReport, BulkReport)


class FailedAttempt(TypedDict):
    """Describes a failed attempt of a job."""

    attempt: int
    state: str
    error: str
    failed_at: Timestamp
    started_at: NotRequired[Timestamp]
    next_retry_at: NotRequired[Timestamp]


class ShownRetryPolicy(TypedDict):
    """Shows the retry policy of a job."""

    max_attempts: int
    initial_interval: str
    backoff_strategy: str


class RetriesAnswer(TypedDict):
    """Shows the failed attempts of a job."""

    job_id: JobId
    state: JobState
    retries: list[FailedAttempt]
    policy: ShownRetryPolicy


class DeadLettersPurgedAnswer(TypedDict):
    """Says how many dead letters were removed."""

    deleted: int
    failed: int
    has_more: bool


class CronRun(TypedDict, total=False):
    """Shows one run of a cron job; its job may be deleted since."""

    scheduled_at: str
    state: Required[str]
    job_id: str
    reason: str
    started_at: Timestamp
    completed_at: Timestamp


class CronRunsAnswer(TypedDict):
    """Shows the latest runs of a cron job, the newest first."""

    name: str
    executions: list[CronRun]
    count: int


# ---------------------------------------------------------------------------------------- jobs
def list_retries(call: Call) -> Answer[RetriesAnswer]:
    """Return the failed attempts of a job, and its retry policy."""
    job = call.backend.jobs.info(call.job_id)
    last = job.failures[-1].attempt if job.failures else None
    retries: list[FailedAttempt] = []
    for failure in job.failures:
        entry: FailedAttempt = {
            "attempt": failure.attempt,
            "state": _state_after(job, is_last=failure.attempt == last),
            "error": f"{failure.type}: {failure.message}" if failure.type else failure.message,
            "failed_at": format_instant(failure.occurred_at),
        }
        if failure.attempt == last:
            if job.started_at is not None and job.attempt == last:
                entry["started_at"] = format_instant(job.started_at)
            if job.next_attempt_at is not None:
                entry["next_retry_at"] = format_instant(job.next_attempt_at)
        retries.append(entry)
    policy: ShownRetryPolicy = {
        "max_attempts": job.retry.max_attempts,
        "initial_interval": format_duration(job.retry.initial_interval_ms),
        "backoff_strategy": job.retry.strategy,
    }
    return Answer({"job_id": job.id, "state": job.state, "retries": retries, "policy": policy})


def _state_after(job: JobRecord, *, is_last: bool) -> str:
    """Return the state after a failed attempt; only the last one may have ended the job."""
    return str(job.state) if is_last and job.state is JobState.DISCARDED else JobState.RETRYABLE


# -------------------------------------------------------------------------------------- queues
def purge_jobs(call: Call) -> Answer[PurgeAnswer]:
    """Purge up to a thousand jobs of a queue: ended ones are deleted, others cancelled."""
    from ojs_aws.transport.http.queues.models import QueuePurgeBody  # pydantic

    body = QueuePurgeBody.model_validate(call.values())
    now = call.backend.clock.now()
    until = None if body.older_than is None else instant_or_age(body.older_than, "older_than", now)
    states = tuple(dict.fromkeys(JobState(state) for state in body.states))
    wanted = Purge(queue=call.named("queue"), states=states, until=until, by=call.actor)
    reports = _pages(lambda cursor: call.backend.queues.purge(wanted, cursor))
    record_purge(call, wanted, reports)
    return Answer(purge_answer(wanted, reports))


def _pages(purge: Callable[[str], Report]) -> list[Report]:
    """Return the reports on page after page, from the first one on."""
    reports = [purge("")]
    while reports[-1].cursor and len(reports) < MAX_ROUNDS:
        reports.append(purge(reports[-1].cursor))
    return reports


def purge_old_dead_letters(call: Call) -> Answer[DeadLettersPurgedAnswer]:
    """Remove up to a thousand dead letters for good: all, or only older ones."""
    age = text_of(call.request.query, "older_than")
    now = call.backend.clock.now()
    until = instant_or_age(age, "older_than", now) if age else None
    wanted = DeadLetterFilter(until=until, view=call.request.caller.view)
    change = functools.partial(call.backend.dead_letters.bulk, BulkAction.DELETE, wanted)
    reports = _pages(lambda cursor: change(cursor=cursor))
    publish_change(call, BulkAction.DELETE, reports)
    deleted = sum(report.done for report in reports)
    failed = sum(len(report.outcomes) for report in reports) - deleted
    return Answer({"deleted": deleted, "failed": failed, "has_more": bool(reports[-1].cursor)})


# ------------------------------------------------------------------------------------- workers
def direct_workers(call: Call) -> Answer[DirectedAnswer]:
    """Direct the selected workers; without a selection all of them."""
    values = call.values()
    directive = directive_of(str(values.pop("directive", "")))
    return direct_chosen(call, directive, values or {"all": True})


# ---------------------------------------------------------------------------------------- cron
def list_cron_runs(call: Call) -> Answer[CronRunsAnswer]:
    """Return a cron job's occurrences of the last week, from its events."""
    entry = found_cron(call)
    occurrences = _occurrences(call, entry)[: number_of(call.request.query, "limit")]
    ids = [str(data["job_id"]) for data in occurrences if data.get("job_id")]
    now = call.backend.clock.now()
    found = call.backend.stores.store.load_many(ids) if ids else {}
    jobs = {job_id: deadlines.settle(job, now) for job_id, job in found.items()}
    runs = [_run(data, jobs) for data in occurrences]
    return Answer({"name": entry.name, "executions": runs, "count": len(runs)})


def _occurrences(call: Call, entry: CronEntry) -> list[Members]:
    """Return the data of the entry's events, newest first; the log lags behind the entry's own."""
    since = Instant(max(entry.created_at, call.backend.clock.now() - WEEK_MS))
    query = EventQuery(
        types=frozenset({"cron.triggered", "cron.skipped"}),
        job_ids=frozenset({entry.name}),
        since=since,
        limit=EVENTS_OF_A_PAGE,
    )
    events: list[Event] = []
    for _ in range(MAX_EVENT_PAGES):
        page = call.backend.events.read(query)
        events += page.events
        if not page.has_more:
            break
        query = EventQuery(
            types=query.types, job_ids=query.job_ids, limit=query.limit, cursor=page.cursor
        )
    found = {_place(data): data for data in map(_data, events)}
    if entry.latest is not None and entry.latest.outcome is not Outcome.CLAIMED:
        latest: Members = {"scheduled_at": format_instant(entry.latest.scheduled_at)}
        if entry.latest.outcome is Outcome.TRIGGERED:
            latest["job_id"] = entry.latest.job_id
        else:
            latest["reason"] = entry.latest.reason
        found.setdefault(_place(latest), latest)
    return sorted(found.values(), key=_place, reverse=True)


def _data(event: Event) -> Members:
    data = decode(event.data, max_depth=100)
    return data if isinstance(data, dict) else {}


def _place(data: Mapping[str, JsonValue]) -> tuple[str, str]:
    return str(data.get("scheduled_at", "")), str(data.get("job_id", ""))


def _run(data: Members, jobs: Mapping[str, JobRecord]) -> CronRun:
    due, job_id = cast("str", data.get("scheduled_at")), str(data.get("job_id") or "")
    if not job_id:
        reason = cast("str", data.get("reason"))
        return {"scheduled_at": due, "state": "skipped", "reason": reason}
    job = jobs.get(job_id)
    if job is None:  # deleted since: its retention is over
        return {"scheduled_at": due, "job_id": job_id, "state": "deleted"}
    run: CronRun = {"scheduled_at": due, "job_id": job_id, "state": job.state}
    ended = job.completed_at or job.discarded_at or job.cancelled_at
    if job.started_at is not None:
        run["started_at"] = format_instant(job.started_at)
    if ended is not None:
        run["completed_at"] = format_instant(ended)
    return run
