"""Finds jobs that need attention; describes a finding of ``GET /admin/findings``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode
from ojs_aws.domain.queues.tallies import MINUTE_MS, TallyKind
from ojs_aws.domain.timestamps import Instant, format_instant, span_text

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.services.system.failure_groups import FailureReport
    from ojs_aws.services.system.statistics import Totals


Sees = Callable[[str, str | None], bool]
"""Says whether the caller may see a queue, and jobs of a type if one is given."""

MAX_NAMED: Final = 20
"""Names that one finding lists."""
LONG_MS: Final = 300_000
"""A backlog that takes longer at the pace of its workers is found while it grows."""
MIN_GROWTH: Final = 60
"""Jobs by which it has grown in the last minute or two."""
LONG_RUN_MS: Final = 60_000
SECOND_MS: Final = 1_000
LONG_TIMES: Final = 5
"""A job hangs after a minute, and after so many times the longest of the last runs of its type."""
LAST: Final = 50
"""Jobs that completed last in its queue, among which those of its type are looked for."""
MIN_RUNS: Final = 3
"""Fewer runs say nothing of a type."""
MAX_TYPES: Final = 3
"""Queues and types that are compared, those of the longest jobs."""
Kind = tuple[str, str]
"""A queue and a job type."""
NO_HANDLER: Final = "NoHandlerRegistered"
"""Type of the error with which workers discard a job whose type they do not know."""


class FindingCode(StrEnum):
    """Names what can be found."""

    SWEEP_NEVER = "sweep_never"
    SWEEP_LATE = "sweep_late"
    QUEUE_PAUSED = "queue_paused"
    BINDING_SUSPENDED = "binding_suspended"
    BACKLOG_GROWS = "backlog_grows"
    JOB_WAITS = "job_waits"
    LINES_BUSY = "lines_busy"
    JOBS_FAIL = "jobs_fail"
    WORKERS_SILENT = "workers_silent"
    WORKERS_QUIET = "workers_quiet"
    JOBS_RUN_LONG = "jobs_run_long"
    JOBS_HANG = "jobs_hang"
    WORKERS_DIE = "workers_die"
    HANDLERS_MISSING = "handlers_missing"
    DEAD_LETTERS = "dead_letters"
    SEQUENCE_STOPPED = "sequence_stopped"


class Severity(StrEnum):
    """Says how bad a finding is."""

    WARNING = "warning"
    """Perhaps as it should be; somebody should look."""
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Describes one thing that needs attention.

    :ivar check: what was looked at when it was found.
    :ivar message: one or two sentences for people.
    :ivar hint: what to do: a command or a sentence.
    :ivar data: the values that the message was made of.
    """

    code: FindingCode
    check: str
    message: str
    hint: str
    severity: Severity = Severity.WARNING
    data: Mapping[str, JsonValue] = field(default_factory=dict)


def growing_backlogs(totals: Totals) -> list[Finding]:
    """Say whose backlogs grow, those that take longest first. Reads nothing.

    A burst that the workers will soon have begun is none, and neither are jobs that were enqueued
    for later: the queue must have as many available jobs as it has grown by.
    """
    found = []
    for queue, did in totals.paces.items():
        came, began = did.counts[TallyKind.ENQUEUED], did.counts[TallyKind.STARTED]
        available = totals.by_queue[queue][0].counts["available"]
        if queue in totals.paused or came - began < MIN_GROWTH or available < came - began:
            continue
        takes_ms = available * totals.pace_ms // began if began else None
        if takes_ms is None or takes_ms > LONG_MS:
            found.append((takes_ms, queue, came, began))
    found.sort(key=lambda each: (each[0] is not None, -(each[0] or 0), each[1]))
    return [_finding(totals, *each) for each in found[:MAX_NAMED]]


def _finding(totals: Totals, takes_ms: int | None, queue: str, came: int, began: int) -> Finding:
    """Say what comes in and goes out each minute, and how long the backlog takes."""
    minutes = totals.pace_ms / MINUTE_MS
    available = totals.by_queue[queue][0].counts["available"]
    comes, begins = round(came / minutes), round(began / minutes)
    data: dict[str, JsonValue] = {
        "queue": queue,
        "available": available,
        "enqueued_per_minute": comes,
        "started_per_minute": begins,
    }
    span = span_text(totals.pace_ms)
    text = f"The backlog of queue '{queue}' grows: in the last {span}, {comes} jobs a minute came "
    if takes_ms is None:
        text += f"and none began. {available} are available."
    else:
        data["wait_ms"] = takes_ms
        text += (
            f"and {begins} began. {available} are available; a job that comes now waits for about "
            f"{span_text(takes_ms)}."
        )
    return Finding(
        code=FindingCode.BACKLOG_GROWS,
        check="queues",
        message=text,
        hint=f"Start more workers, or slow the senders: ojs-aws queues show {queue}",
        data=data,
    )


def caused_by(finding: Finding, reason: Reason) -> Finding:
    """Return the finding of a growing backlog with why the next job of its queue waits.

    Where a limit holds it up, more workers would not help.
    """
    data = {**finding.data, "reason": str(reason.code)}
    if reason.code is ReasonCode.LIMIT:
        hint = f"Raise the limit, or slow the senders: {reason.hint}"
        message = f"{finding.message} {reason.message}"
        return replace(finding, message=message, hint=hint, data=data)
    if reason.code not in {ReasonCode.READY, ReasonCode.UNKNOWN}:
        return replace(finding, message=f"{finding.message} {reason.message}", data=data)
    if (slots := cast("int", reason.data.get("places", 0))) == 0:
        return finding
    busy = (
        f"All {slots} slots of its workers are" if slots > 1 else "The only slot of its worker is"
    )
    return replace(finding, message=f"{finding.message} {busy} busy.", data=data)


def hung_jobs(
    store: JobStore, running: Iterable[JobRecord], known: Collection[str], now: Instant
) -> list[Finding]:
    """Say which jobs run much longer than their type does, by type, the longest first.

    Nothing is read unless a job has run for a minute; then a page of completed jobs for each queue.

    :param running: jobs of workers that send heartbeats.
    :param known: ids of those that another finding names.
    """
    long: dict[Kind, list[JobRecord]] = {}
    for job in sorted(running, key=lambda job: (job.started_at or now, job.id)):
        is_active = job.state is JobState.ACTIVE and job.id not in known
        if is_active and _runs_ms(job, now) > LONG_RUN_MS:
            long.setdefault((job.queue, job.type), []).append(job)
    kinds = [*long][:MAX_TYPES]
    usual = {queue: _longest_runs(store, queue) for queue in dict.fromkeys(q for q, _ in kinds)}
    found = []
    for queue, kind in kinds:
        longest_ms = usual[queue].get(kind)
        if longest_ms is None:
            continue
        hung = [each for each in long[queue, kind] if _runs_ms(each, now) > LONG_TIMES * longest_ms]
        if hung:
            found.append(_hung_finding(hung, longest_ms, now))
    return found


def _runs_ms(job: JobRecord, now: Instant) -> int:
    return now - (job.started_at or now)


def _longest_runs(store: JobStore, queue: str) -> dict[str, int]:
    """Return how long the longest of the last runs of each type took, where there are enough."""
    page = store.listed(queue, JobList.COMPLETED, LAST, newest_first=True)
    runs: dict[str, list[int]] = {}
    for job in store.load_many([row.id for row in page.jobs]).values() if page.jobs else ():
        if job.started_at is not None and job.completed_at is not None:
            runs.setdefault(job.type, []).append(job.completed_at - job.started_at)
    return {kind: max(times) for kind, times in runs.items() if len(times) >= MIN_RUNS}


def _hung_finding(hung: list[JobRecord], longest_ms: int, now: Instant) -> Finding:
    """Say how long the first job has run, and how long others of its type do."""
    first = hung[0]
    what = (
        f"{len(hung)} jobs '{first.type}' of queue '{first.queue}' seem to hang: the longest has "
        if len(hung) > 1
        else f"A job '{first.type}' of queue '{first.queue}' seems to hang: it has "
    )
    longest = span_text(longest_ms) if longest_ms >= SECOND_MS else "a second"
    names: list[JsonValue] = [each.id for each in hung[:MAX_NAMED]]
    return Finding(
        code=FindingCode.JOBS_HANG,
        check="workers",
        message=f"{what}run for {span_text(_runs_ms(first, now))}, and the last ones of its type "
        f"took {longest} at most. Heartbeats still come, so it goes on until its timeout.",
        hint=f"See what the job waits for, and cancel what hangs: ojs-aws jobs cancel "
        f"{' '.join(map(str, names))}",
        data={
            "queue": first.queue,
            "type": first.type,
            "job_id": first.id,
            "job_ids": names,
            "runs_ms": _runs_ms(first, now),
            "longest_ms": longest_ms,
        },
    )


@dataclass(frozen=True, slots=True)
class MissingHandlers:
    """Looks at the failures of the last hour for jobs without a handler."""

    store: JobStore

    def __call__(self, report: FailureReport, sees: Sees | None) -> list[Finding]:
        """Return what needs attention: one finding for all such jobs, until they are started again.

        Reads some of the jobs, and only where there are any.
        """
        groups = [each.group for each in report.groups if each.group.type == NO_HANDLER]
        if not groups:
            return []
        ids = list(dict.fromkeys(job_id for each in groups for job_id in each.job_ids))
        there = [
            job
            for job in self.store.load_many(ids[:MAX_NAMED]).values()
            if sees is None or sees(job.queue, job.type)
        ]
        jobs = [job for job in there if job.state is JobState.DISCARDED]
        if there and not jobs:
            return []  # they were started again
        count = sum(each.count for each in groups)
        last = max(each.last_seen for each in groups)
        text = (
            f"{count} job{'s were' if count > 1 else ' was'} discarded in the last "
            f"{span_text(report.until - report.since)} because no worker that got them has a "
            f"handler for their type, the last one {span_text(report.until - last)} ago."
        )
        data: dict[str, JsonValue] = {"count": count, "last_at": format_instant(last)}
        hint = "ojs-aws errors"
        if jobs:
            types = sorted({job.type for job in jobs})
            data |= {"types": [*types], "queue": jobs[0].queue, "job_id": jobs[0].id}
            text += f" Among them: {', '.join(types)}."
            hint = f"Deploy a worker with the handler, then: ojs-aws jobs retry {jobs[0].id}"
        return [
            Finding(
                code=FindingCode.HANDLERS_MISSING,
                check="failures",
                message=text,
                hint=hint,
                data=data,
            )
        ]
